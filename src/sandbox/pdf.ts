import type { VehicleCheck } from './checks.ts'

const titles = { ppsr: 'PPSR search certificate', car_history: 'Car History report' } as const

/** One page in PDF; the same check always gives the same bytes. */
export async function checkPdf(check: VehicleCheck): Promise<Buffer> {
  // Loaded late: a big library that most runs of the sandbox do not need.
  const { default: PDFDocument } = await import('pdfkit')
  const title = titles[check.kind]
  // The id of the file is made from `info`. Without a date in it, it would depend on the time of day.
  const info = { Title: `${title} ${check.vin}`, CreationDate: check.searchedAt }
  const document = new PDFDocument({ size: 'A4', margin: 56, info })
  const chunks: Buffer[] = []
  document.on('data', (chunk: Buffer) => chunks.push(chunk))
  const ended = new Promise<void>((resolve, reject) => {
    document.on('end', resolve).on('error', reject)
  })
  document.fontSize(20).text(title).moveDown().fontSize(11)
  for (const line of linesOf(check)) document.text(line)
  document.moveDown().fontSize(8).text('Made by the Forecourt sandbox: this is not a real search.')
  document.end()
  await ended
  return Buffer.concat(chunks)
}

function linesOf({ vin, certificateNumber, searchedAt, counts }: VehicleCheck): string[] {
  return [
    `VIN: ${vin}`,
    ...(certificateNumber === null ? [] : [`Certificate number: ${certificateNumber}`]),
    `Date: ${searchedAt.toISOString()}`,
    `Security interests: ${counts.securityInterests}`,
    `Written-off records: ${counts.writeOffs}`,
    `Stolen records: ${counts.stolen}`,
  ]
}
