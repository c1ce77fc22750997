import { defaultWire, type WireSettings, wireSettings } from '#src/values/wire.ts'

/** Wire settings without a default: every header, envelope, field, path and method differs. */
export function renamedWire(): WireSettings {
  const changed = changeAll(wireSettings.parse({}))
  return wireSettings.parse(changed)
}

type Tree = { readonly [name: string]: unknown }

/** Settings that are not names of fields. */
const special: Readonly<Record<string, unknown>> = {
  authHeader: 'X-Renamed-Key',
  authPrefix: 'Token ',
  held: [],
  encoding: 'form',
  method: 'POST',
  // Not names, but the form of generated accounts: the world is generated from it.
  generatedUser: defaultWire.appraisal.generatedUser,
}

function changeAll(settings: Tree): Tree {
  return Object.fromEntries(
    Object.entries(settings).map(([name, value]) => [name, changeOne(name, value)]),
  )
}

function changeOne(name: string, value: unknown): unknown {
  if (Object.hasOwn(special, name)) return special[name]
  if (typeof value === 'object' && value !== null && !Array.isArray(value))
    return changeAll(value as Tree)
  const [first] = [value].flat() as string[]
  // Paths of URLs stay paths of URLs; the others move one level down and get another name.
  if (first?.startsWith('/v1/')) return first.replace('/v1/', '/v1/renamed/')
  return `renamed.${name}_x`
}
