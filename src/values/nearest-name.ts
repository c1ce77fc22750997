/** The known name that a misspelt one was meant to be; `undefined` when none is near. */
export function nearestName(wanted: string, known: readonly string[]): string | undefined {
  const typed = wanted.toLowerCase()
  const ranked = known
    .map((name) => ({ name, away: distance(typed, name.toLowerCase()) }))
    .sort((a, b) => a.away - b.away)
  const best = ranked[0]
  return best && best.away <= Math.max(1, Math.floor(typed.length / 3)) ? best.name : undefined
}

/** `did you mean north?`, else the known names. */
export function nameHint(wanted: string, known: readonly string[]): string {
  const meant = nearestName(wanted, known)
  return meant ? `did you mean ${meant}?` : `known: ${known.join(', ') || 'none'}`
}

/** Follows what is not known: ` (did you mean north?); known are: east, north.` */
export function knownNames(wanted: string, known: readonly string[]): string {
  const meant = nearestName(wanted, known)
  return `${meant === undefined ? '' : ` (did you mean ${meant}?)`}; known are: ${known.join(', ')}.`
}

/** The edit distance of two words: a letter added, removed or replaced, or two neighbours swapped. */
function distance(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i += 1) {
    const row = [i]
    for (let j = 1; j <= b.length; j += 1) {
      const other = a[i - 1] === b[j - 1] ? 0 : 1
      row[j] = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + other)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      if (swapped) row[j] = Math.min(row[j]!, beforeLast[j - 2]! + 1)
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}
