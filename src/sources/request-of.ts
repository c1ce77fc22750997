import { openAsBlob } from 'node:fs'
import { basename } from 'node:path'
import { FormData } from 'undici'
import { type FieldValues, type Operation, pathFields, withQuery } from '../contract/operation.ts'
import type { WireSettings } from '../values/wire.ts'
import type { HttpRequest } from './http-request.ts'

/** The content of a call: fields by our names, and the paths of files. */
export interface CallContent {
  readonly fields: FieldValues
  readonly files?: readonly string[]
}

/** Makes the request of an operation with the configured wire names. Files are streamed from the disk when it is sent.
 *  Rejects with the file's error when one cannot be opened. */
export async function requestOf(
  operation: Operation,
  content: CallContent,
  wire: WireSettings,
): Promise<
  Pick<HttpRequest, 'method' | 'path' | 'body'> & { readonly contentType: string | null }
> {
  const { method, path: template, encoding } = operation.transport(wire)
  const { path, rest } = splitPath(template, content.fields)
  const sent = operation.toWire(rest, wire)
  switch (encoding) {
    case 'query':
      return { method, path: withQuery(path, queryOf(sent)), contentType: null }
    case 'json':
      return { method, path, body: JSON.stringify(sent), contentType: 'application/json' }
    case 'form':
      // The form sets its own content type, with the boundary.
      return { method, path, body: await formOf(operation, sent, content, wire), contentType: null }
  }
}

/** Fills in the fields that the path names, and returns the rest. */
function splitPath(
  template: string,
  fields: FieldValues,
): { readonly path: string; readonly rest: FieldValues } {
  const named = template.includes('{') ? pathFields(template) : []
  const path = named.reduce(
    (filled, name) => filled.replace(`{${name}}`, () => encodeURIComponent(String(fields[name]))),
    template,
  )
  const rest = Object.entries(fields).filter(
    ([name, value]) => value !== undefined && !named.includes(name),
  )
  return { path, rest: Object.fromEntries(rest) }
}

function queryOf(sent: FieldValues): string {
  return new URLSearchParams(
    Object.entries(sent).map(([name, value]) => [name, textOf(value)]),
  ).toString()
}

async function formOf(
  { file }: Operation,
  sent: FieldValues,
  { files = [] }: CallContent,
  wire: WireSettings,
): Promise<FormData> {
  const form = new FormData()
  for (const [name, value] of Object.entries(sent)) form.append(name, textOf(value))
  for (const path of files)
    form.append(file!.name(wire), await openAsBlob(path, { type: imageType(path) }), basename(path))
  return form
}

function imageType(path: string): string {
  if (/\.png$/i.test(path)) return 'image/png'
  return /\.jpe?g$/i.test(path) ? 'image/jpeg' : 'application/octet-stream'
}

function textOf(value: unknown): string {
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
