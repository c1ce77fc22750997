import { type PlannedWork, planRun } from '../../sync/run/plan-run.ts'
import type { RunRequest } from '../../sync/run/start-run.ts'
import { labelRooftops } from '../config/choose-rooftops.ts'
import type { Session } from './session.ts'
import { table } from './table.ts'

/** `--dry-run` of a command that starts a run. */
export async function dryRun(session: Session, request: RunRequest): Promise<number> {
  const { config } = session
  const { plan, isNew } = await planRun(config, session.log, request)
  session.result({ dryRun: true, mode: request.plan.mode, plan }, () => {
    const label = labelRooftops(request.rooftops)
    const labelled = plan.map((row) => ({ ...row, rooftop: label(row.rooftop) }))
    const creator = config.warehouse.url === null ? 'this command' : '"forecourt migrate"'
    return lines(labelled, isNew ? creator : null)
  })
  return 0
}

/** `creator`: what will create the warehouse; null where there is one. */
function lines(plan: readonly PlannedWork[], creator: string | null): string[] {
  return [
    "Plan by this machine's clock (nothing was called, nothing was written):",
    ...(creator === null
      ? []
      : [`The warehouse does not exist yet (${creator} creates it), so nothing is covered.`]),
    ...table(
      [
        'stream',
        'rooftop',
        'new',
        'not settled',
        'recheck',
        'deep',
        'list calls',
        'reads expected',
      ],
      plan.map((row) => [
        row.stream,
        row.rooftop,
        row.unlisted,
        row.gap - row.unlisted,
        row.recheck,
        row.deep,
        row.expectedLists,
        row.expectedReads ?? 'not known: never listed',
      ]),
    ),
    'Evaluations that the run itself brings in add reads of pricing and vehicle-checks.',
  ]
}
