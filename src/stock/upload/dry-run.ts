import { UsageError } from '../../errors.ts'
import { plural } from '../../values/text.ts'
import { CsvFileError } from '../csv/read/csv-file.ts'
import { importStock } from '../import/import-stock.ts'
import { allowances, type GuardRefusal, ListRefused } from '../import/list-refused.ts'
import type { ImportRequest, ImportServices } from '../import/request.ts'
import { SheetChoiceError } from '../workbook/choose-sheet.ts'
import { type FirstRows, firstRows } from './first-rows.ts'
import { plainWords } from './plain-words.ts'
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
  const onColumns: ImportServices['onColumns'] = (list, mapping) => {
    first ??= firstRows(list, request, mapping)
  }
  return withFirstRows(await resultOf({ ...services, onColumns }, request), first)
}

async function resultOf(services: ImportServices, request: ImportRequest): Promise<UploadResult> {
  const guards: GuardRefusal[] = []
  let refused: UploadResult | null = null
  const onGuard: ImportServices['onGuard'] = (refusal) => {
    if ('would' in refusal) guards.push(refusal)
    else refused = refusedResult(refusal)
  }
  try {
    const report = await importStock({ ...services, onGuard }, { ...request, dryRun: true })
    return checkedResult(report, guards, refused)
  } catch (error) {
    const { cause } = error as { cause?: unknown }
    if (cause instanceof SheetChoiceError) return sheetsResult(cause.sheets)
    if (cause instanceof CsvFileError && error instanceof UsageError)
      throw new UsageError(plainWords(error.message), { cause })
    if (!(error instanceof ListRefused)) throw error
    const { refusal } = error
    if ('would' in refusal) throw error
    return refusedResult(refusal)
  }
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
  return Object.fromEntries(guards.map(({ is }) => [allowances[is], true]))
}
