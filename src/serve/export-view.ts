import { createReadStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import type { Context } from '../context.ts'
import { type ExportRequest, runExport } from '../stock/export/export.ts'

/** A view of the marts, as `stock export --mart` writes it. Whoever stops reading ends the query. */
export async function exportView(
  { pool, signal }: Context,
  name: string,
  format: 'csv' | 'parquet',
): Promise<Readable> {
  const subject = { is: 'mart', name } as const
  const request = { subject, format, delimiter: null, bom: true, raw: false, signal }
  if (format === 'csv') return streamOf((to) => runExport(pool, { ...request, to }))
  // The end of a Parquet file has the places of its parts, so it is whole before it is sent.
  const folder = await mkdtemp(join(tmpdir(), 'forecourt-export-'))
  const remove = () => rm(folder, { recursive: true, force: true })
  try {
    const file = join(folder, `${name}.parquet`)
    await runExport(pool, { ...request, to: file })
    return createReadStream(file).on('close', () => void remove())
  } catch (error) {
    await remove()
    throw error
  }
}

/** The priced stock list of a rooftop, as `stock export` writes it. */
export function exportStock(
  { pool, signal }: Context,
  rooftop: { readonly id: number; readonly uid: string },
): Readable {
  const subject = { is: 'list', rooftop, all: false } as const
  return streamOf((to) => runExport(pool, { subject, ...asCsv, signal, to }))
}

/** An uploaded list with its prices, as `stock export --original` writes it. */
export function exportOriginal(
  { pool, signal }: Context,
  rooftop: { readonly id: number; readonly uid: string },
  importId: number,
): Readable {
  const subject = { is: 'original', rooftop, importId } as const
  return streamOf((to) => runExport(pool, { subject, ...asCsv, signal, to }))
}

const asCsv = { format: 'csv', delimiter: null, bom: true, raw: false } as const

function streamOf(write: (to: NonNullable<ExportRequest['to']>) => Promise<unknown>): Readable {
  const to = new PassThrough()
  write(to).then(
    () => to.end(),
    (error: Error) => to.destroy(error),
  )
  return to
}
