import type { Operation } from '../contract/operation.ts'
import type { ExampleCall, ExampleRequest } from './example-calls.ts'

/** The call as a `curl` command for a POSIX shell. A required file is the reader's own `photo.jpg`. */
export function curlCommand({ method, url, headers, json, form, file }: ExampleRequest): string {
  const parts = [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${quoted(url)}`,
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(json === null
      ? []
      : ["-H 'Content-Type: application/json'", `-d ${quoted(JSON.stringify(json))}`]),
    ...Object.entries(form ?? {}).map(([name, value]) => `-F ${quoted(`${name}=${value}`)}`),
    ...(file === null ? [] : [`-F ${quoted(`${file}=@photo.jpg;type=image/jpeg`)}`]),
  ]
  return parts.join(' \\\n  ')
}

/** The same call by the command line of Forecourt. */
export function forecourtCommand(
  { name, effect, service, file }: Operation,
  { fields, rooftopUid }: ExampleCall,
): string {
  const flags = Object.entries(fields).map(([field, value]) =>
    value === true ? `--${field}` : `--${field} ${word(flagText(value))}`,
  )
  return [
    `forecourt api ${name}`,
    ...flags,
    ...(file?.required ? ['--file photo.jpg'] : []),
    ...(service === 'appraisal' && rooftopUid !== null ? [`--rooftop ${word(rooftopUid)}`] : []),
    ...(effect === 'read' ? [] : ['--yes']),
  ].join(' ')
}

function flagText(value: unknown): string {
  if (Array.isArray(value) && value.every((item) => typeof item === 'number'))
    return value.join(',')
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}

function word(text: string): string {
  return /^[\w.,:@/+-]+$/.test(text) ? text : quoted(text)
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`
}
