/** How many characters have to be changed, added or taken away to make one text of the other. For short texts: it takes as many steps as the
 *  product of their lengths. */
export function editDistance(one: string, other: string): number {
  let distances = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const next = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const changed = (distances[column - 1] ?? 0) + (one[row - 1] === other[column - 1] ? 0 : 1);
      next.push(Math.min(changed, (distances[column] ?? 0) + 1, (next[column - 1] ?? 0) + 1));
    }
    distances = next;
  }
  return distances.at(-1) ?? 0;
}
