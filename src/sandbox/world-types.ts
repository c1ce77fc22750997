/** Regions of the service; the key decides the behaviour [A §1]. */
export type Region = 'AU' | 'US' | 'GCC'

/** Rooftops that list and read each other's evaluations [A §4 /getevallist]. */
export interface DealerGroup {
  readonly id: string
  readonly name: string
  readonly region: Region
}

/** A dealership: the `uid` goes into `X-Dealer-Id`, the `dealerId` into the list's filter [A §4, §5.3]. */
export interface Rooftop {
  readonly uid: string
  readonly groupId: string
  readonly name: string
  readonly dealerId: number
  readonly region: Region
  /** IANA zone. */
  readonly timezone: string
  /** ISO 4217. */
  readonly currency: string
  /** Whether Car History is enabled here [A §4 /carhistory]; left out = it is. */
  readonly carHistory?: boolean
}

/** A person or a generated link-capture account of a group [A §2, §4 /getuserlist]. */
export interface Salesperson {
  readonly userId: number
  readonly groupId: string
  readonly rooftopUid: string
  readonly name: string
  readonly email: string
  readonly active: boolean
  /** True for an account that a link feature made: never in `/getuserlist`. */
  readonly generated: boolean
}

/** An API key [A §5]. */
export interface ApiKey {
  readonly name: string
  readonly value: string
  readonly kind: 'partner' | 'dedicated'
  readonly region: Region
  /** Rooftops for which the key is authorised; exactly one for a dedicated key. */
  readonly rooftopUids: readonly string[]
  /** The user on whose behalf the key reads; null: `/geteval` answers 400 unless `user` is sent [A §4]. */
  readonly linkedUserId: number | null
  /** The `user` that a client must send with `/geteval`; null when a user is linked. */
  readonly user: string | null
}

/** A reconditioning line [A §2]. Money in the rooftop's currency. */
export interface ReconLine {
  readonly type: string | null
  readonly source: string | null
  readonly cost: number | null
  readonly value: string | number | null
}

/** A photo as it was uploaded; display order and hero follow from it [A §3, §4 /imageupload]. */
export interface StoredPhoto {
  readonly id: number
  /** As supplied, 1-based, not unique. */
  readonly order: number | null
  /** The upload's `timestamp`. */
  readonly takenAt: Date | null
  readonly uploadedAt: Date
  readonly pinned: boolean
  readonly angle: string | null
  /** Of an uploaded image, without the dot; left out when the sandbox draws the photo. */
  readonly extension?: string
}

/** An item of `UserPrices`; its shape is not shown [A §2]. */
export interface UserPrice {
  readonly amount: number | null
  readonly currency: string | null
  readonly note: string | null
}

/** A configured custom field with its current value; its shape is not shown [A §2]. */
export interface CustomField {
  readonly type: string
  readonly options: readonly string[] | null
  readonly value: unknown
}

/** A text in the answer; null is sent as null, undefined is left out. */
export type OptionalText = string | null | undefined
/** A number in the answer; null is sent as null, undefined is left out. */
type OptionalNumber = number | null | undefined

/** The customer, as given to `/dcupdateeval` [A §4]. */
export interface Customer {
  readonly name: OptionalText
  readonly phone: OptionalText
  readonly email: OptionalText
  readonly postcode: OptionalText
  readonly state: OptionalText
  readonly address: OptionalText
  readonly suburb: OptionalText
}

/** A customer without any data: null in each field, or without it. */
export function unknownCustomer(none: null | undefined): Customer {
  const person = { name: none, phone: none, email: none }
  return { ...person, postcode: none, state: none, address: none, suburb: none }
}

/** What an edit may change. Money in the rooftop's currency, `odometer` as the region reads it. */
export interface EvaluationFields {
  readonly vin: OptionalText
  readonly userId: number | null | undefined
  readonly make: OptionalText
  readonly model: OptionalText
  readonly variant: OptionalText
  readonly year: OptionalNumber
  readonly registration: OptionalText
  readonly registrationState: OptionalText
  readonly odometer: OptionalNumber
  readonly colour: OptionalText
  /** 0 unroadworthy to 10 showroom [A §8]. */
  readonly condition: OptionalNumber
  readonly notes: OptionalText
  readonly finalPrice: OptionalNumber
  /** `sum` = the total of the lines. */
  readonly reconTotal: OptionalNumber | 'sum'
  readonly reconditioning: readonly ReconLine[] | null | undefined
  readonly photos: readonly StoredPhoto[]
  readonly userPrices: readonly UserPrice[]
  readonly customFields: Readonly<Record<string, CustomField>>
  readonly customer: Customer
  /** Fields that no document names, merged into the answer as they are. */
  readonly extra: Readonly<Record<string, unknown>>
}

/** New values of some fields; of the customer, only the parts named. */
export type EvaluationPatch = Partial<Omit<EvaluationFields, 'customer'>> & {
  readonly customer?: Partial<Customer>
}

/** A change that applies from `at` on. */
export interface Edit {
  readonly at: Date
  readonly patch: EvaluationPatch
}

/** One appraisal with its whole history, including its future. */
export interface Evaluation extends EvaluationFields {
  /** Unique over the whole service. */
  readonly evalId: number
  readonly rooftopUid: string
  readonly createdAt: Date
  /** Null: always in progress; an instant after now: a late completion. */
  readonly completedAt: Date | null
  /** In order of `at`. */
  readonly edits: readonly Edit[]
  /** From then on `/geteval` answers 400. */
  readonly vanishedAt: Date | null
  /** True: `/getevallist` still lists it after `vanishedAt`. */
  readonly vanishedStaysListed: boolean
}
