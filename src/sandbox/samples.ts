// Sample vehicles: VINs that always behave the same, whatever the world. The root page lists them.

/** A VIN and what it demonstrates. */
export interface Sample {
  readonly vin: string
  readonly region: 'AU' | 'US' | 'GCC' | 'any'
  readonly shows: string
}

/** All have 17 characters; those of Australia answer 200 at `/entervin` and use no quota [A §4 /entervin]. */
export const samples = {
  auSingle: vin('SAMPLEAU000000001', 'AU', 'decodes to one vehicle'),
  auAmbiguous: vin(
    'SAMPLEAU000000002',
    'AU',
    'ambiguous: an array of options, no EvalID; a PPSR search on it: changed on the third day',
  ),
  auWatchChanges: vin('SAMPLEAU000000003', 'AU', 'a PPSR search on it: changed on the third day'),
  auSearchFails: vin('SAMPLEAU000000004', 'AU', 'a PPSR search on it fails (400)'),
  auHistoryFails: vin('SAMPLEAU000000005', 'AU', 'Car History fails (500)'),
  auWatchDisabled: vin('SAMPLEAU000000006', 'AU', 'a PPSR search on it is not watched: disabled'),
  usSingle: vin('SAMPLEUS000000001', 'US', 'decodes to one vehicle'),
  usAmbiguous: vin('SAMPLEUS000000002', 'US', 'ambiguous: descriptionSelect, EvalID set'),
  gccSingle: vin('SAMPLEGCC00000001', 'GCC', 'decodes to one vehicle'),
  gccAmbiguous: vin('SAMPLEGCC00000002', 'GCC', 'ambiguous: descriptionSelect with ADCodes'),
  undecodable: vin('SAMPLEXX000000000', 'any', 'cannot be decoded: 2xx with error, or 404'),
  reasoningUnavailable: vin('SAMPLEXX000000009', 'any', 'decodes; reasoning ends unavailable'),
} as const

function vin(text: string, region: Sample['region'], shows: string): Sample {
  return { vin: text, region, shows }
}
