// Changes of a text, by place.

"use strict";

class Edits {
  constructor(text) {
    this.text = text;
    this.edits = [];
  }

  replace(start, end, text) {
    this.edits.push({ start, end, text });
  }

  /** Of this node, with the changes that lie in it, and without what makes it an export. */
  textOf(node) {
    const exports = (node.modifiers ?? []).filter(({ kind }) => EXPORTS.has(kind));
    const start = exports.length === 0 ? node.getStart() : exports.at(-1).end;
    let at = start;
    let changed = "";
    const inside = this.edits.filter((edit) => edit.start >= start && edit.end <= node.end);
    // At one place in the order in which they were made.
    for (const edit of inside.sort((a, b) => a.start - b.start)) {
      changed += this.text.slice(at, edit.start) + edit.text;
      at = edit.end;
    }
    return changed + this.text.slice(at, node.end);
  }
}

const ts = require("typescript");
const EXPORTS = new Set([ts.SyntaxKind.ExportKeyword, ts.SyntaxKind.DefaultKeyword]);

module.exports = { Edits };
