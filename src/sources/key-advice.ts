// A stored error is a text, so what to check is also how a refused key is known again later.

/** The name of a key in `ops.rate_budget`, also in what follows: `appraisal/<name in the config>`, or the one below. */
export const vehicleDataKey = 'vehicleData'

/** What to check when a key is refused, to follow "check". `source`: where the config takes it from. */
export function keyToCheck(key: string, source: string | undefined): string {
  return source === undefined ? subjectOf(key) : `${subjectOf(key)} (${source})`
}

/** The first of these keys that a text advises to check; null: none. */
export function keyInAdvice(text: string, keys: readonly string[]): string | null {
  return keys.find((key) => isNamed(text, `heck ${subjectOf(key)}`)) ?? null
}

/** Whether a text says that the key itself is refused. Of some refusals the documents leave open whether key or record is meant. */
export function isCertain(text: string, key: string): boolean {
  return isNamed(text, `Check ${subjectOf(key)}`)
}

function subjectOf(key: string): string {
  return key === vehicleDataKey
    ? 'vehicleData.apiKey'
    : `the value of key ${key.replace(/^appraisal\//, '')}`
}

/** Whether the words are in the text, and end a name there: key group-au is not named by a text about group-au-2. */
function isNamed(text: string, words: string): boolean {
  const after = text.split(words).slice(1)
  return after.some((rest) => !/^[\w-]/.test(rest))
}
