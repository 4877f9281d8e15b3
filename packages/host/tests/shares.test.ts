import fc from "fast-check";
import { expect, test } from "vitest";
import { FairShare } from "../src/network/fair-share.ts";

interface Place {
  readonly guest: string;
}

function places(all: number, each: number) {
  const held: Place[] = [];
  const forget = (place: Place): void => void held.splice(held.indexOf(place), 1);
  const shares = new FairShare<Place>({ all, each }, forget);
  const take = (guest: string): boolean => {
    const place = { guest };
    const taken = shares.take(guest, place);
    if (taken) held.push(place);
    return taken;
  };
  const of = (guest: string): number => held.filter((place) => place.guest === guest).length;
  return { shares, held, take, of };
}

test("a guest has no more than its own limit, also where there are free places", () => {
  const { take, of } = places(10, 3);
  expect([1, 2, 3, 4].map(() => take("a"))).toEqual([true, true, true, false]);
  expect(of("a")).toBe(3);
});

test("when all are taken, the oldest place of the guest with the most is given to one that has fewer", () => {
  const { shares, held, take, of } = places(4, 4);
  for (const guest of ["a", "b", "a", "a"]) take(guest);
  const [oldest] = held;
  expect(take("c")).toBe(true);
  expect(held).not.toContain(oldest);
  expect([of("a"), of("b"), of("c")]).toEqual([2, 1, 1]);
  expect(["b", "a"].map(take)).toEqual([false, false]);
  expect(take("d")).toBe(true);
  expect(take("e")).toBe(false);
  const [first] = shares.all();
  if (first !== undefined) shares.release(first.guest, first);
  expect(take("e")).toBe(true);
});

test("whoever asks, the places are never too many, and a guest without any gets one while another has two", () => {
  const guests = fc.integer({ min: 0, max: 12 }).map(String);
  fc.assert(
    fc.property(fc.array(guests, { maxLength: 200 }), (asking) => {
      const { shares, held, take, of } = places(8, 4);
      for (const guest of asking) {
        const had = of(guest);
        const most = Math.max(0, ...held.map((place) => of(place.guest)));
        const free = held.length < 8;
        const taken = take(guest);
        expect(taken).toBe(had < 4 && (free || most >= had + 2));
        expect(held.length).toBeLessThanOrEqual(8);
        expect(shares.all().length).toBe(held.length);
      }
    }),
  );
});
