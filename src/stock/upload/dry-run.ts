import { UsageError } from '../../errors.ts'
import { CsvFileError } from '../../csv/read/csv-file.ts'
import { SheetChoiceError } from '../../workbook/choose-sheet.ts'
import { importStock } from '../import/import-stock.ts'
import { ListRefused } from '../import/list-refused.ts'
import type { ImportRequest, ImportServices } from '../import/request.ts'
import { type FirstRows, firstRows } from './first-rows.ts'
import { plainWords } from './plain-words.ts'
import {
  checkedResult,
  refusedResult,
  withFirstRows,
  sheetsResult,
  type UploadGuard,
  type UploadResult,
} from './result.ts'

/** What an import would do. Lifts each guard that would refuse the list, and names it, so that all of it is shown at once. */
export async function dryRun(
  services: ImportServices,
  request: ImportRequest,
): Promise<UploadResult> {
  let first: FirstRows | null = null
  const onColumns: ImportServices['onColumns'] = (list, mapping) => {
    first ??= firstRows(list, request, mapping)
  }
  return withFirstRows(await resultOf({ ...services, onColumns }, request), first)
}

async function resultOf(services: ImportServices, request: ImportRequest): Promise<UploadResult> {
  const guards: UploadGuard[] = []
  let refused: UploadResult | null = null
  let lifted = { allowMassRemoval: false, allowMassChange: false }
  for (;;) {
    try {
      const report = await importStock(services, { ...request, dryRun: true, ...lifted })
      return checkedResult(report, guards, refused)
    } catch (error) {
      const { cause } = error as { cause?: unknown }
      if (cause instanceof SheetChoiceError) return sheetsResult(cause.sheets)
      if (cause instanceof CsvFileError && error instanceof UsageError)
        throw new UsageError(plainWords(error.message), { cause })
      if (!(error instanceof ListRefused)) throw error
      const { refusal } = error
      if (refusal.is === 'columns' || refusal.is === 'cut') return refusedResult(refusal)
      if (refusal.is === 'nothing-valid') refused = refusedResult(refusal)
      else guards.push(refusal as UploadGuard)
      lifted = {
        allowMassRemoval: lifted.allowMassRemoval || refusal.is !== 'change',
        allowMassChange: lifted.allowMassChange || refusal.is === 'change',
      }
    }
  }
}

/** The guards that a person lifts by typing their numbers. UsageError when a number is missing or wrong. */
export function liftedBy(
  guards: readonly UploadGuard[],
  typed: Readonly<Record<string, number>>,
): Pick<ImportRequest, 'allowMassRemoval' | 'allowMassChange'> {
  for (const { is, count } of guards)
    if (typed[is] !== count)
      throw new UsageError(
        `Nothing was imported: to confirm that ${count} cars ${is === 'removal' ? 'leave the stock' : 'change'}, type ${count}.`,
      )
  const has = (kind: UploadGuard['is']) => guards.some(({ is }) => is === kind)
  return { allowMassRemoval: has('removal'), allowMassChange: has('change') }
}
