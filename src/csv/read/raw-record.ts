/** A record as it is found, before it is held against the file's columns. */
export interface RawRecord {
  readonly line: number
  readonly cells: readonly string[]
  /** Without its line end. */
  readonly raw: string
  /** Its quotes are where they belong, and its cells need no second look. */
  readonly isSound?: boolean
  /** The file ends, or goes on for too long, within a quoted cell. */
  readonly isUnclosed: boolean
  /** Something follows: the file is not cut here. */
  readonly hasLineEnd: boolean
}

export interface SplitOptions {
  /** The chunks go to the end of the file: what is left over is a record too. */
  readonly isWhole: boolean
  /** Number of the chunks' first line; 1. */
  readonly firstLine?: number
  /** Longest record in bytes. */
  readonly maxRecordBytes: number
  /** Whether a text that goes on for too long shows an opening quote that is text, not one long cell. */
  readonly looksStray: (text: string) => boolean
}

/** A record's text without its line end. */
export function trimEnd(raw: string): string {
  let end = raw.length
  if (raw[end - 1] === '\n') end -= 1
  while (raw[end - 1] === '\r' && end > raw.length - 3) end -= 1
  return end === raw.length ? raw : raw.slice(0, end)
}
