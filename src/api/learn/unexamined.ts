import { isObject, type JsonPath } from '../../values/json-path.ts'
import { defaultWire, type WireSettings } from '../../values/wire.ts'
import { findOperation } from '../contract/operations.ts'

/** Settings that the learner does not examine, as a group. */
interface UnexaminedGroup {
  /** Below `wire`. */
  readonly group: string
  readonly settings: readonly { readonly setting: string; readonly configured: JsonPath }[]
  readonly evidence: string
}

/** What shows the settings of a group. */
const shownBy: Readonly<Record<string, string>> = {
  ...{
    enterVin: 'entervin',
    updateEval: 'dcupdateeval',
    customField: 'geteval',
    userPrice: 'geteval',
  },
  ...{ ppsrCertificate: 'ppsrsearch', carHistory: 'carhistory', webhook: 'webhooks-list' },
  ...{ generatedUser: 'getuserlist', priceBatch: 'price-batch', gccDecode: 'gccfactoryvinext' },
  ...{ auDecode: 'vindatabasic', historyCheck: 'historyCheck', ppsrSearch: 'ppsrNewSearch' },
  ...{ priceGuide: 'gccpriceguide', prediction: 'prediction' },
}

/** The groups of settings that no finding is about, each with the command that shows its names. */
export function unexaminedGroups(
  wire: WireSettings,
  found: readonly { readonly setting: string }[],
): UnexaminedGroup[] {
  const examined = new Set(found.map(({ setting }) => setting))
  const left = listSettings(defaultWire, wire, '').filter(
    ({ setting }) => !examined.has(setting) && setting !== 'appraisal.held',
  )
  const groups = Map.groupBy(left, ({ setting }) => setting.split('.').slice(0, 2).join('.'))
  return [...groups].map(([group, settings]) => ({
    group,
    settings,
    evidence: missingEvidence(group),
  }))
}

function missingEvidence(group: string): string {
  const operation = findOperation(shownBy[group.split('.')[1]!] ?? '')
  if (operation === undefined)
    return group.endsWith('webhookBody') ? 'a received webhook' : 'forecourt check'
  const cost = { read: 'reads', write: 'writes', bill: 'costs money' }[operation.effect]
  return `forecourt api ${operation.name} (${cost})`
}

function listSettings(
  tree: object,
  configured: object,
  prefix: string,
): { setting: string; configured: JsonPath }[] {
  return Object.entries(tree).flatMap(([name, value]: [string, unknown]) => {
    const setting = (configured as Record<string, unknown>)[name]
    return isObject(value)
      ? listSettings(value, setting as object, `${prefix}${name}.`)
      : [{ setting: prefix + name, configured: setting as JsonPath }]
  })
}
