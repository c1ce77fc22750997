/** Names as one text: `A`, `A and B`, `A, B and 3 more`. */
export function listText(names: readonly string[], most: number): string {
  if (names.length > most)
    return `${names.slice(0, most - 1).join(', ')} and ${names.length - most + 1} more`
  if (names.length < 2) return names[0] ?? ''
  return `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`
}
