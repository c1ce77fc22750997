import type { ExportSubject } from '../../stock/export/export.ts'
import { type ExportFormat, writeExport } from '../../stock/export/export.ts'
import type { WriteFile } from './downloads.ts'

/** A file as `stock export` writes it. */
export function exportFile(subject: ExportSubject, format: ExportFormat): WriteFile {
  const style = { delimiter: null, bom: true, raw: false }
  return (tx, to, signal) => writeExport(tx, { subject, format, ...style, to, signal })
}
