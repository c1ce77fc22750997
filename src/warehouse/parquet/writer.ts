import { zstdCompressSync } from 'node:zlib'
import type { ColumnChunk, CompressionCodec, Encoding, RowGroup, SchemaElement } from 'hyparquet'
import { ByteWriter } from 'hyparquet-writer'
import { writePageHeader } from 'hyparquet-writer/src/datapage.js'
import { writeMetadata } from 'hyparquet-writer/src/metadata.js'
import { errorText } from '../../errors.ts'
import type { ParquetColumn } from './columns.ts'
import type { ColumnValues } from './values.ts'

/** Rows that are held and compressed at a time: what a reader reads at least. */
const rowsOfAGroup = 65_536
/** Of long texts there are fewer. */
const bytesOfAGroup = 64 * 1024 * 1024

const codec: CompressionCodec = 'ZSTD'
const magic = 0x31524150

/** What a file has of one column. */
export interface ColumnSummary {
  readonly column: ParquetColumn
  nulls: number
  /** null: it has none, or they are not exact. */
  least: number | null
  greatest: number | null
  isExact: boolean
}

/**
 * Writes one Parquet file, a group of rows at a time: pages of version 1, which every reader knows, compressed with zstd.
 * `add` rows until `isFull`, then take the bytes of `endGroup`; at last those of `end`.
 */
export class ParquetWriter {
  rows = 0
  bytes = 0
  readonly summaries: readonly ColumnSummary[]
  readonly #columns: readonly { readonly column: ParquetColumn; readonly values: ColumnValues }[]
  readonly #groups: RowGroup[] = []
  #rowsOfGroup = 0
  #bytesOfGroup = 0

  constructor(columns: readonly ParquetColumn[]) {
    this.#columns = columns.map((column) => ({ column, values: column.make() }))
    this.summaries = columns.map((column) => ({
      ...{ column, nulls: 0, least: null, greatest: null, isExact: true },
    }))
  }

  /** The fields of a row begin at `first` of `starts` and `lengths`. */
  add(buffer: Buffer, starts: Int32Array, lengths: Int32Array, first: number): void {
    const columns = this.#columns
    let no = 0
    try {
      for (; no < columns.length; no++) {
        const length = lengths[first + no]!
        columns[no]!.values.add(buffer, starts[first + no]!, length)
        if (length > 0) this.#bytesOfGroup += length
      }
    } catch (error) {
      throw new RangeError(`the column ${columns[no]!.column.name} ${errorText(error)}`)
    }
    this.#rowsOfGroup += 1
    this.rows += 1
  }

  get isFull(): boolean {
    return this.#rowsOfGroup === rowsOfAGroup || this.#bytesOfGroup >= bytesOfAGroup
  }

  /** The bytes of the rows since the last group; none when there are none. */
  endGroup(): Uint8Array {
    if (this.#rowsOfGroup === 0) return new Uint8Array()
    const writer = this.#open()
    const start = writer.offset
    const columns = this.#columns.map(({ column, values }, at) => {
      this.#summarize(this.summaries[at]!, values)
      const chunk = writeChunk(writer, column, values)
      values.clear()
      return chunk
    })
    const uncompressed = columns.reduce(
      (sum, { meta_data: data }) => sum + data!.total_uncompressed_size,
      0n,
    )
    this.#groups.push({
      columns,
      total_byte_size: uncompressed,
      num_rows: BigInt(this.#rowsOfGroup),
      file_offset: BigInt(start),
      total_compressed_size: BigInt(writer.offset - start),
    })
    this.#rowsOfGroup = 0
    this.#bytesOfGroup = 0
    return this.#close(writer)
  }

  /** The bytes of the last group and of the end of the file. */
  end(): Uint8Array {
    const last = this.endGroup()
    const writer = this.#open()
    const schema: SchemaElement[] = [
      { name: 'mart', num_children: this.#columns.length },
      ...this.#columns.map(({ column: { name, element } }) => ({
        ...{ name, repetition_type: 'OPTIONAL' as const, ...element },
      })),
    ]
    writeMetadata(writer, {
      ...{ version: 1, schema, num_rows: BigInt(this.rows), row_groups: this.#groups },
      ...{ created_by: 'forecourt', metadata_length: 0 },
    })
    writer.appendUint32(magic)
    return Buffer.concat([last, this.#close(writer)])
  }

  #open(): ByteWriter {
    const writer = new ByteWriter()
    if (this.bytes === 0) writer.appendUint32(magic)
    else writer.offset = this.bytes
    return writer
  }

  #close(writer: ByteWriter): Uint8Array {
    this.bytes = writer.offset
    return writer.getBytes()
  }

  #summarize(summary: ColumnSummary, values: ColumnValues): void {
    summary.nulls += values.nulls
    summary.isExact &&= values.isExact
    const { range } = values
    if (range === null) return
    summary.least = Math.min(summary.least ?? range.least, range.least)
    summary.greatest = Math.max(summary.greatest ?? range.greatest, range.greatest)
  }
}

/** One page, behind its dictionary when it has one. */
function writeChunk(writer: ByteWriter, { name, element }: ParquetColumn, values: ColumnValues) {
  const { dictionary, bytes } = values.encode()
  const start = writer.offset
  let uncompressed = 0
  const encodings: Encoding[] = ['RLE']
  if (dictionary !== null) {
    const page = zstdCompressSync(dictionary.bytes)
    writePageHeader(writer, {
      type: 'DICTIONARY_PAGE',
      uncompressed_page_size: dictionary.bytes.length,
      compressed_page_size: page.length,
      dictionary_page_header: { num_values: dictionary.values, encoding: 'PLAIN' },
    })
    uncompressed += writer.offset - start + dictionary.bytes.length
    writer.appendBytes(page)
    encodings.push('PLAIN')
  }
  const { levels } = values
  const plain = Buffer.allocUnsafe(4 + levels.length + bytes.length)
  plain.writeUInt32LE(levels.length, 0)
  plain.set(levels, 4)
  plain.set(bytes, 4 + levels.length)
  const page = zstdCompressSync(plain)
  const pageStart = writer.offset
  const encoding = dictionary === null ? 'PLAIN' : 'RLE_DICTIONARY'
  encodings.push(encoding)
  writePageHeader(writer, {
    type: 'DATA_PAGE',
    uncompressed_page_size: plain.length,
    compressed_page_size: page.length,
    data_page_header: {
      ...{ num_values: values.rows, encoding },
      ...{ definition_level_encoding: 'RLE' as const, repetition_level_encoding: 'RLE' as const },
    },
  })
  uncompressed += writer.offset - pageStart + plain.length
  writer.appendBytes(page)
  return {
    file_offset: BigInt(start),
    meta_data: {
      ...{ type: element.type!, encodings: [...new Set(encodings)], path_in_schema: [name], codec },
      num_values: BigInt(values.rows),
      total_uncompressed_size: BigInt(uncompressed),
      total_compressed_size: BigInt(writer.offset - start),
      data_page_offset: BigInt(pageStart),
      ...(dictionary === null ? {} : { dictionary_page_offset: BigInt(start) }),
      statistics: chunkStatistics(element.type!, values),
    },
  } satisfies ColumnChunk
}

function chunkStatistics(type: string, { nulls, range }: ColumnValues) {
  const none = { null_count: BigInt(nulls) }
  if (range === null || type === 'FIXED_LEN_BYTE_ARRAY') return none
  const value = (number: number) => (type === 'INT64' ? BigInt(number) : number)
  return { ...none, min_value: value(range.least), max_value: value(range.greatest) }
}
