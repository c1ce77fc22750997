import { firstCandidate } from '#src/values/json-path.ts'
import { defaultWire, type HeldName } from '#src/values/wire.ts'
import { columnFedBy } from '#src/web/console/evaluation/columns-fed.ts'

/** The column of `core.evaluation` or `pii.evaluation_customer` that a setting of `wire.appraisal.evaluation` fills. */
export function heldColumn(name: HeldName): string {
  const { appraisal } = defaultWire
  const column = columnFedBy(firstCandidate(appraisal.evaluation[name]), appraisal)
  return column!.split('.').at(-1)!
}
