interface Rooftop {
  /** 0: no run has registered it yet, so it has no data. */
  readonly id: number
  readonly uid: string
}

/** The data to export. */
export type ExportSubject =
  | { readonly is: 'list'; readonly rooftop: Rooftop; readonly all: boolean }
  | { readonly is: 'original'; readonly rooftop: Rooftop; readonly importId: number }
  | { readonly is: 'mart'; readonly name: string }
