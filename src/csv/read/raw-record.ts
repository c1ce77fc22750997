/** A record as read, before it is compared with the file's columns. */
export interface RawRecord {
  readonly line: number
  readonly cells: readonly string[]
  /** Without its line end. */
  readonly raw: string
  /** Its quotes are valid, and its cells need no second check. */
  readonly isSound?: boolean
  /** The file ends within a quoted cell, or the cell is too long. */
  readonly isUnclosed: boolean
  /** A line end follows: the file is not cut here. */
  readonly hasLineEnd: boolean
}

/** How a text is split into records. */
export interface SplitOptions {
  /** The chunks reach the end of the file: the rest is a record too. */
  readonly isWhole: boolean
  /** Number of the chunks' first line; default 1. */
  readonly firstLine?: number
  /** Longest record in bytes. */
  readonly maxRecordBytes: number
  /** Whether an overlong text comes from an opening quote that is text, rather than from one long cell. */
  readonly hasStrayQuote: (text: string) => boolean
}

/** A record's text without its line end. */
export function trimEnd(raw: string): string {
  let end = raw.length
  if (raw[end - 1] === '\n') end -= 1
  while (raw[end - 1] === '\r' && end > raw.length - 3) end -= 1
  return end === raw.length ? raw : raw.slice(0, end)
}
