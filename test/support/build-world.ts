import { groupRooftops } from '#src/sandbox/generate-dealers.ts'
import { World } from '#src/sandbox/world.ts'
import type {
  ApiKey,
  Customer,
  DealerGroup,
  Evaluation,
  Rooftop,
  Salesperson,
  StoredPhoto,
} from '#src/sandbox/world-types.ts'

// Builders of small worlds for tests: a test states what it needs, the rest has defaults.

/** An instant, or its ISO text. */
export type Instant = Date | string

/** The values of an evaluation that a test states; `anEvaluation` adds the rest. */
export type EvaluationDraft = Partial<
  Omit<Evaluation, 'createdAt' | 'completedAt' | 'vanishedAt' | 'edits' | 'customer' | 'photos'>
> & {
  readonly createdAt?: Instant
  readonly completedAt?: Instant | null
  readonly vanishedAt?: Instant | null
  readonly edits?: readonly {
    readonly at: Instant
    readonly patch: Evaluation['edits'][0]['patch']
  }[]
  readonly customer?: Partial<Customer>
  readonly photos?: readonly (Partial<StoredPhoto> & { readonly id: number })[]
}

/** An evaluation: id 1001 at `rooftop-1`, created 2026-03-02T01:00:00Z, completed half an hour later. */
export function anEvaluation(draft: EvaluationDraft = {}): Evaluation {
  const createdAt = new Date(draft.createdAt ?? '2026-03-02T01:00:00Z')
  return {
    evalId: 1001,
    rooftopUid: 'rooftop-1',
    vin: 'JTMDFREV90D123456',
    userId: null,
    make: 'Toyota',
    model: 'RAV4',
    variant: 'GX',
    year: 2021,
    registration: 'ABC123',
    registrationState: 'NSW',
    odometer: 48_000,
    colour: 'White',
    condition: 7,
    notes: 'Tidy.',
    finalPrice: 23_500,
    reconTotal: 'sum',
    reconditioning: [],
    userPrices: [],
    customFields: {},
    extra: {},
    vanishedStaysListed: false,
    ...draft,
    createdAt,
    completedAt:
      draft.completedAt === undefined
        ? new Date(createdAt.getTime() + 1_800_000)
        : orNull(draft.completedAt),
    vanishedAt: orNull(draft.vanishedAt ?? null),
    edits: (draft.edits ?? []).map(({ at, patch }) => ({ at: new Date(at), patch })),
    photos: (draft.photos ?? []).map((photo) => ({
      ...blankPhoto,
      uploadedAt: createdAt,
      ...photo,
    })),
    customer: { ...defaultCustomer, ...draft.customer },
  }
}

const blankPhoto = { order: null, takenAt: null, pinned: false, angle: null }

const defaultCustomer: Customer = {
  name: 'Pat Example',
  phone: '0491 570 006',
  email: 'pat@example.org',
  postcode: '2064',
  state: 'NSW',
  address: '1 Example Street',
  suburb: 'Artarmon',
}

/** A rooftop: `rooftop-1` of `group-1`, dealer 101, in Sydney. */
export function aRooftop(overrides: Partial<Rooftop> = {}): Rooftop {
  return {
    uid: 'rooftop-1',
    groupId: 'group-1',
    name: 'Rooftop One',
    dealerId: 101,
    region: 'AU',
    timezone: 'Australia/Sydney',
    currency: 'AUD',
    ...overrides,
  }
}

/** A salesperson: user 1 of `rooftop-1`, active. */
export function aUser(overrides: Partial<Salesperson> = {}): Salesperson {
  return {
    userId: 1,
    groupId: 'group-1',
    rooftopUid: 'rooftop-1',
    name: 'Alex Example',
    email: 'alex@example.com',
    active: true,
    generated: false,
    ...overrides,
  }
}

/** A partner key `partner` with value `partner-key` over `rooftop-1`, that needs no `user`. */
export function aKey(overrides: Partial<ApiKey> = {}): ApiKey {
  return {
    name: 'partner',
    value: 'partner-key',
    kind: 'partner',
    region: 'AU',
    rooftopUids: ['rooftop-1'],
    linkedUserId: 1,
    user: null,
    ...overrides,
  }
}

/** The parts of a world for a test; each has a default. */
export interface WorldDraft {
  /** Default: one for each `groupId` of the rooftops. */
  readonly groups?: readonly DealerGroup[]
  /** Default: `aRooftop()`. */
  readonly rooftops?: readonly Rooftop[]
  readonly users?: readonly Salesperson[]
  /** Default: for each region one partner key over all its rooftops, named and valued `partner-<region>`. */
  readonly keys?: readonly ApiKey[]
  readonly evaluations?: readonly Evaluation[]
}

/** A world with only these parts. */
export function worldOf(draft: WorldDraft = {}): World {
  const rooftops = draft.rooftops ?? [aRooftop()]
  return new World({
    groups: draft.groups ?? groupRooftops(rooftops),
    rooftops,
    users: draft.users ?? [],
    keys: draft.keys ?? partnerKeys(rooftops),
    evaluations: draft.evaluations ?? [],
  })
}

function partnerKeys(rooftops: readonly Rooftop[]): ApiKey[] {
  return Map.groupBy(rooftops, ({ region }) => region)
    .entries()
    .map(([region, covered]) =>
      aKey({
        name: `partner-${region.toLowerCase()}`,
        value: `partner-${region.toLowerCase()}`,
        region,
        rooftopUids: covered.map(({ uid }) => uid),
      }),
    )
    .toArray()
}

function orNull(instant: Instant | null): Date | null {
  return instant === null ? null : new Date(instant)
}
