import type { AppraisalWire } from './wire.ts'

/** The person that a record names: personal data. */
export interface Person {
  readonly name: string | null
  readonly phone: string | null
  readonly email: string | null
  readonly address: string | null
  readonly suburb: string | null
  readonly plate: string | null
  /** Values at paths that neither the documents nor the config name, and that may be an e-mail or a phone number, where the body has none
   *  at the paths that the config names. */
  readonly unnamed?: readonly string[]
}

/** How to remove a person from a payload. */
export interface PersonRedaction {
  /** A text, or a number that may be one, without the person. */
  readonly redact: {
    (text: string): string
    (value: string | number): string | number
  }
  /** A fact of the vehicle without contacts; names stay, since a fact may equal one. */
  readonly redactFact: (text: string) => string
  /** The new value of a customer's field, by its path; undefined leaves the field out. null: the fields stay, since they are
   *  another customer's. */
  readonly blank: ((path: string, value: unknown) => unknown) | null
  /** The new value of a text, or of a number like that of a phone, at a path that neither the documents nor the config name: it may be
   *  about anyone. Left out: as `blank`, or `redact` where that is null. */
  readonly unknown?: (path: string, value: string | number) => unknown
}

/** How to find and remove the people that the payloads of records name. Pure. */
export interface PeopleOfRecords {
  /** The customer that the parsed payload names. */
  readPerson(body: unknown, id: number, wire: AppraisalWire): Person
  /** The parsed payload without the person, so that it makes the same facts. */
  withoutPerson(body: unknown, id: number, wire: AppraisalWire, redaction: PersonRedaction): unknown
}
