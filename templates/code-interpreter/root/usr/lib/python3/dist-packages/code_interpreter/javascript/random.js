// Clones would have the same `Math.random`.

"use strict";

const { closeSync, openSync, readSync } = require("fs");

const NUMBERS = 512;

function reseed() {
  const words = new BigUint64Array(NUMBERS);
  let left = 0;
  Math.random = function random() {
    if (left === 0) {
      fill(words);
      left = NUMBERS;
    }
    left -= 1;
    // The 53 bits that a double has below 1.
    return Number(words[left] >> 11n) / 2 ** 53;
  };
}

/** From the system, whose random numbers each clone has of its own. */
function fill(words) {
  const file = openSync("/dev/urandom", "r");
  try {
    readSync(file, words);
  } finally {
    closeSync(file);
  }
}

module.exports = { reseed };
