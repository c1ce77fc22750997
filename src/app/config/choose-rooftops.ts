import { UsageError } from '../../errors.ts'
import { nearestName } from '../../values/nearest-name.ts'
import { firstText } from '../../values/text.ts'
import type { Config, RooftopConfig } from './read.ts'

/** How a rooftop is named. */
interface NamedRooftop {
  readonly uid: string
  readonly name: string
}

/** The shortest beginning of a uid that is accepted. */
const minCharacters = 4
const maxListed = 10

/** The rooftop as every output shows it. */
export function rooftopLabel({ uid, name }: NamedRooftop): string {
  return name === uid ? uid : `${name} (${uid})`
}

/** How a uid is shown; one that is not among the rooftops stays as it is. */
export function labelRooftops(rooftops: readonly NamedRooftop[]): (uid: string) => string {
  const labels = new Map(rooftops.map((rooftop) => [rooftop.uid, rooftopLabel(rooftop)]))
  return (uid) => labels.get(uid) ?? uid
}

/** As `labelRooftops`, with the name alone where it is that of one rooftop. */
export function nameRooftops(rooftops: readonly NamedRooftop[]): (uid: string) => string {
  const label = labelRooftops(rooftops)
  const named = Map.groupBy(rooftops, ({ name }) => name)
  const names = new Map(
    rooftops.flatMap(({ uid, name }) => (named.get(name)!.length === 1 ? [[uid, name]] : [])),
  )
  return (uid) => names.get(uid) ?? label(uid)
}

/** The rooftops of the config that a command is about, each named as `matchRooftop` takes it; all when none is named. */
export function chooseRooftops(config: Config, names: readonly string[]): readonly RooftopConfig[] {
  if (config.rooftops.length === 0) {
    throw new UsageError(
      `No rooftops are configured (${config.file ?? 'no forecourt.yaml here'}): write a config with "forecourt init" and list them under rooftops:.`,
    )
  }
  const chosen = new Set(names.map((name) => matchRooftop(name, config.rooftops)))
  return names.length === 0
    ? config.rooftops
    : config.rooftops.filter((rooftop) => chosen.has(rooftop))
}

/**
 * Finds the rooftop that a text names: by its uid, else by its name, else by the beginning of its uid. UsageError when none or
 * several match; `known` says in the message where the rooftops come from.
 */
export function matchRooftop<R extends NamedRooftop>(
  text: string,
  rooftops: readonly R[],
  known = 'in the config',
): R {
  const typed = text.toLowerCase()
  const startsWithTyped = ({ uid }: R) => typed !== '' && uid.toLowerCase().startsWith(typed)
  const rules: readonly ((rooftop: R) => boolean)[] = [
    ({ uid }) => uid === text,
    ({ name }) => name === text,
    ({ name }) => name.toLowerCase() === typed,
    (rooftop) => typed.length >= minCharacters && startsWithTyped(rooftop),
  ]
  for (const rule of rules) {
    const found = rooftops.filter(rule)
    if (found.length === 1) return found[0]!
    if (found.length > 1)
      throw new UsageError(
        `--rooftop ${text} matches ${found.length} rooftops: ${labels(found)}. Write more of the uid.`,
      )
  }
  if (rooftops.some(startsWithTyped))
    throw new UsageError(
      `--rooftop ${text} is too short: write at least the first ${minCharacters} characters of the uid.`,
    )
  const partly =
    typed === '' ? [] : rooftops.filter(({ name }) => name.toLowerCase().includes(typed))
  if (partly.length === 1)
    throw new UsageError(
      `--rooftop ${text} is not ${known}: write the whole name, or the first ${minCharacters} or more characters of the uid. Did you mean ${rooftopLabel(partly[0]!)}?`,
    )
  const nearest = nearestName(
    text,
    rooftops.flatMap(({ uid, name }) => [name, uid]),
  )
  const meant = rooftops.find(({ uid, name }) => nearest === name || nearest === uid)
  const hint = meant === undefined ? '' : ` (did you mean ${rooftopLabel(meant)}?)`
  throw new UsageError(
    `--rooftop ${text} is not ${known}${hint}; known are: ${labels(rooftops) || 'none'}.`,
  )
}

function labels(rooftops: readonly NamedRooftop[]): string {
  return firstText(rooftops.map(rooftopLabel), maxListed)
}
