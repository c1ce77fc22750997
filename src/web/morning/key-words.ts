import { keyToCheck, shortKey, vehicleDataKey } from '../../api/sources/key-advice.ts'
import type { Config } from '../../app/config/read.ts'
import type { KeyRefusal, KeyState } from '../../sync/run/key-states.ts'
import { utcText } from '../../values/instant.ts'
import { plural } from '../../values/text.ts'

// What people read about a key, wherever it is shown.

/** At which of its rooftops a key is refused. */
export function whereRefused({ rooftops, all }: Pick<KeyRefusal, 'rooftops' | 'all'>): string {
  if (rooftops.length < all) return `at ${rooftops.length} of its ${all} rooftops`
  return all === 1 ? 'at its rooftop' : `at all ${all} rooftops`
}

/** What the service answered, and to how many calls. */
export function refusalText({ status, answer, calls }: KeyRefusal): string {
  const what = answer ?? (status === null ? 'refused the key' : `answered ${status}`)
  return `The service ${what} (${plural(calls, 'call')} refused)`
}

/** A refused key for commands: where and since when, what that stops, what the service answered, and what to do. */
export function refusalWords(
  { key, refusal }: { readonly key: string; readonly refusal: KeyRefusal },
  stopped: string | null,
  config: Config,
): { readonly what: string; readonly why: readonly string[]; readonly cure: string } {
  const goodAt = refusal.goodAt === null ? 'none' : utcText(refusal.goodAt)
  return {
    what: `${keyTitle(key)} is refused since ${utcText(refusal.since)}, ${whereRefused(refusal)}`,
    why: [
      ...(stopped === null ? [] : [`Stops ${stopped}`]),
      `${refusalText(refusal)}; the last good answer: ${goodAt}`,
    ],
    cure: refusalCure({ key, refusal }, config),
  }
}

/** A key at the beginning of a sentence. */
export function keyTitle(key: string): string {
  return key === vehicleDataKey ? 'Key vehicleData.apiKey' : `Key ${shortKey(key)}`
}

/** What to do about a refused key: which setting, where it is, and how to go on. */
export function refusalCure(
  { key, refusal }: Pick<KeyState, 'key' | 'refusal'>,
  config: Config,
): string {
  const name = shortKey(key)
  const isPartner = key !== vehicleDataKey && config.keys[name]?.kind === 'partner'
  const source = key === vehicleDataKey ? config.vehicleDataKeySource : config.keySources[name]
  const isSome = refusal !== null && refusal.rooftops.length < refusal.all
  const rooftops = isSome && isPartner
  const first = rooftops
    ? `Check that key ${name} may read ${refusal.rooftops.length === 1 ? 'this rooftop' : 'these rooftops'} (uid, X-Dealer-Id)`
    : `Correct ${keyToCheck(key, source)}`
  return `${first}, then run "forecourt check". ${rooftops ? '' : 'Start processes that run again: they read it at their start. '}The next sync loads what was missed. See "Change a key" in src/web/operations/README.md.`
}
