import { UsageError } from '../../errors.ts'
import { plural } from '../../values/text.ts'
import { importStock } from '../import/import-stock.ts'
import type { ImportRequest, ImportServices } from '../import/request.ts'
import { ListRefused } from '../refusal.ts'
import { type GuardRefusal, guardKinds, type Refusal } from '../refusal-kinds.ts'
import { SheetChoiceError } from '../workbook/choose-sheet.ts'
import { type FirstRows, firstRows } from './first-rows.ts'
import {
  checkedResult,
  refusedResult,
  sheetsResult,
  type UploadResult,
  withFirstRows,
} from './result.ts'

/** What an import would do. Names each guard that would refuse the list, so that all of it is shown at once. */
export async function dryRun(
  services: ImportServices,
  request: ImportRequest,
): Promise<UploadResult> {
  let first: FirstRows | null = null
  const refusals: Refusal[] = []
  const noting: ImportServices = {
    ...services,
    onColumns(list, mapping) {
      first ??= firstRows(list, request, mapping)
    },
    onGuard: (refusal) => refusals.push(refusal),
  }
  const checked = await importStock(noting, { ...request, dryRun: true }).then(
    (report) => checkedResult(report, refusals),
    (error: unknown) => {
      const { cause } = error as { cause?: unknown }
      if (cause instanceof SheetChoiceError) return sheetsResult(cause.sheets)
      if (error instanceof ListRefused) return refusedResult(error.refusal)
      throw error
    },
  )
  return withFirstRows(checked, first)
}

/** The options by which a person allows what guards found, by typing their numbers. UsageError when a number is missing or wrong. */
export function confirmGuards(
  guards: readonly GuardRefusal[],
  typed: Readonly<Record<string, number>>,
): Partial<ImportRequest> {
  for (const { is, count } of guards)
    if (typed[is] !== count)
      throw new UsageError(
        `Nothing was imported: to confirm what the list would do to ${plural(count, 'car')}, type ${count}.`,
      )
  return Object.fromEntries(guards.map(({ is }) => [guardKinds[is].allows, true]))
}
