/** A file of a multipart request. */
export interface UploadedFile {
  /** Of the form field. */
  readonly field: string
  readonly fileName: string
  readonly type: string
  readonly bytes: Buffer
}

/** The body of a request, read before the key is checked. */
export interface RequestBody {
  /** The JSON value, or the texts of a form; undefined when there is no body. */
  readonly sent: unknown
  readonly files: readonly UploadedFile[]
  /** Why the body could not be read; null when it could. */
  readonly error: string | null
}

const nothing: RequestBody = { sent: undefined, files: [], error: null }

/** Reads the body as JSON. Its error is answered later, after the key is checked. */
export function readJsonBody(bytes: unknown, contentType: string | undefined): RequestBody {
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) return nothing
  if (!/^application\/json\b/i.test(contentType ?? ''))
    return { ...nothing, error: 'The body has to be application/json' }
  try {
    return { ...nothing, sent: JSON.parse(bytes.toString('utf8')) }
  } catch (error) {
    return { ...nothing, error: `The body is not JSON: ${(error as Error).message}` }
  }
}

/** Reads a multipart or URL-encoded form. When a field is sent twice, the last value counts. */
export async function readFormBody(
  bytes: unknown,
  contentType: string | undefined,
): Promise<RequestBody> {
  if (!Buffer.isBuffer(bytes) || bytes.length === 0) return { ...nothing, sent: {} }
  if (!/^(multipart\/form-data|application\/x-www-form-urlencoded)\b/i.test(contentType ?? ''))
    return { ...nothing, error: 'The body has to be multipart/form-data' }
  try {
    const headers = { 'content-type': contentType! }
    const form = await new Response(Uint8Array.from(bytes), { headers }).formData()
    const sent: Record<string, string> = {}
    const files: UploadedFile[] = []
    for (const [field, value] of form) {
      if (typeof value === 'string') sent[field] = value
      else
        files.push({
          field,
          fileName: value.name,
          type: value.type,
          bytes: Buffer.from(await value.arrayBuffer()),
        })
    }
    return { sent, files, error: null }
  } catch {
    // The parser gives no details.
    return { ...nothing, error: 'The form is broken or was cut off' }
  }
}
