/** What bounds the memory of a slice, the length of its transaction, and what a crash costs. */
export interface SliceLimits {
  /** A slice takes windows until they list this many records. */
  readonly records: number
  /** Records of one certificate; larger windows are halved. Only a single second may hold more. */
  readonly recordsPerPart: number
  /** A slice reads no further record once the bodies it holds have this many characters. */
  readonly bodies: number
}

export const defaultSliceLimits: SliceLimits = {
  records: 500,
  recordsPerPart: 1000,
  bodies: 8 * 1024 ** 2,
}
