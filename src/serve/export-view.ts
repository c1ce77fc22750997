import type { WriteFile } from '../console/downloads.ts'
import { type ExportFormat, writeExport } from '../stock/export/export.ts'
import { writeOpen } from '../stock/export/output.ts'
import type { ExportSubject } from '../stock/export/subject.ts'
import { storedListText } from '../stock/import/stored-list.ts'

type Rooftop = Extract<ExportSubject, { is: 'list' }>['rooftop']

/** A view of the marts, as `stock export --mart` writes it. */
export function exportView(name: string, format: ExportFormat): WriteFile {
  return fileOf({ is: 'mart', name }, format)
}

/** The priced stock list of a rooftop, as `stock export` writes it. */
export function exportStock(rooftop: Rooftop, format: 'csv' | 'xlsx'): WriteFile {
  return fileOf({ is: 'list', rooftop, all: false }, format)
}

/** An uploaded list with its prices, as `stock export --original` writes it. */
export function exportOriginal(
  rooftop: Rooftop,
  importId: number,
  format: 'csv' | 'xlsx',
): WriteFile {
  return fileOf({ is: 'original', rooftop, importId }, format)
}

/** The rejected rows of an import, as `stock import --rejects` writes them. */
export function exportRejected(importId: number): WriteFile {
  return (client, to, signal) => writeOpen(storedListText(client, importId, {}), to, signal)
}

function fileOf(subject: ExportSubject, format: ExportFormat): WriteFile {
  const style = { delimiter: null, bom: true, raw: false }
  return (client, to, signal) => writeExport(client, { subject, format, ...style, to, signal })
}
