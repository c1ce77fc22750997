import type { VehicleCheck } from './checks.ts'

const titles = { ppsr: 'PPSR search certificate', car_history: 'Car History report' } as const

/** One page in PDF; the same check always gives the same bytes. */
export function checkPdf(check: VehicleCheck): Buffer {
  const lines = [
    titles[check.kind],
    ...pdfLines(check),
    'Made by the Forecourt sandbox: this is not a real search.',
  ]
  const shown = lines.map((line) => `(${line.replaceAll(/[\\()]/g, '\\$&')}) Tj T*`)
  const text = `BT /F1 12 Tf 18 TL 56 770 Td ${shown.join(' ')} ET`
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>',
    `<< /Length ${Buffer.byteLength(text, 'latin1')} >>\nstream\n${text}\nendstream`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ]
  let body = '%PDF-1.4\n'
  const offsets = objects.map((content, index) => {
    const offset = body.length
    body += `${index + 1} 0 obj\n${content}\nendobj\n`
    return `${String(offset).padStart(10, '0')} 00000 n \n`
  })
  const table = `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.join('')}`
  const trailer = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${body.length}\n%%EOF\n`
  return Buffer.from(body + table + trailer, 'latin1')
}

function pdfLines({ vin, certificateNumber, searchedAt, counts }: VehicleCheck): string[] {
  return [
    `VIN: ${vin}`,
    ...(certificateNumber === null ? [] : [`Certificate number: ${certificateNumber}`]),
    `Date: ${searchedAt.toISOString()}`,
    `Security interests: ${counts.securityInterests}`,
    `Written-off records: ${counts.writeOffs}`,
    `Stolen records: ${counts.stolen}`,
  ]
}
