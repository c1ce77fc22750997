/** The name of the key of the vehicle-data APIs in `ops.rate_budget`; those of the others are `appraisalKey(name in the config)`. */
export const vehicleDataKey = 'vehicleData'

const prefix = 'appraisal/'

/** The name of a key of the config in `ops.rate_budget`. */
export function appraisalKey(name: string): string {
  return `${prefix}${name}`
}

/** A key as the config names it, for people and for alerts. */
export function shortKey(key: string): string {
  return key.startsWith(prefix) ? key.slice(prefix.length) : key
}

/** The setting of a key's value, to follow "check". `source`: where the config takes the value from; undefined: not known. */
export function keyToCheck(key: string, source: string | undefined): string {
  const setting =
    key === vehicleDataKey ? 'vehicleData.apiKey' : `the value of key ${shortKey(key)}`
  return source === undefined ? setting : `${setting} (${source})`
}
