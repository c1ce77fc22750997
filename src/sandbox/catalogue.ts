import type { Region } from './world-types.ts'

/** A vehicle that can be decoded, chosen and priced. */
export interface CatalogueVehicle {
  /** 13 characters [A §8]. */
  readonly adcode: string
  /** The US provider's id of the style. */
  readonly styleId: string
  readonly region: Region
  readonly make: string
  readonly model: string
  readonly variant: string
  readonly series: string
  readonly body: string
  readonly fuel: string
  readonly engine: string
  readonly transmission: string
  readonly drivetrain: string
  /** null = electric. */
  readonly cylinders: number | null
  /** null = electric. */
  readonly engineLitres: number | null
  readonly firstYear: number
  readonly lastYear: number
  /** In the region's currency: AUD, USD, AED. */
  readonly newPrice: number
  /** Factory options that it may have. */
  readonly options: readonly string[]
}

/** A model with its variants. */
interface CatalogueModel {
  /** `stem`: 8 characters of the catalogue code. */
  readonly badge: Pick<CatalogueVehicle, 'region' | 'make' | 'model' | 'series'> & { stem: string }
  readonly build: Pick<CatalogueVehicle, 'body' | 'fuel' | 'engine'>
  readonly drive: Pick<
    CatalogueVehicle,
    'transmission' | 'drivetrain' | 'cylinders' | 'engineLitres'
  >
  readonly sold: Pick<CatalogueVehicle, 'firstYear' | 'lastYear'>
  readonly options: readonly string[]
  /** Name, price when new in the region's currency (AUD, USD, AED), and where the variant differs from the model. */
  readonly variants: readonly (readonly [string, number, Partial<CatalogueVehicle>?])[]
}

/** Transmission, driven wheels, cylinders and litres. */
function engineDrive(
  transmission: string,
  drivetrain: string,
  cylinders: number,
  engineLitres: number,
): CatalogueModel['drive'] {
  return { transmission, drivetrain, cylinders, engineLitres }
}

const electricDrive = { transmission: '1-speed automatic', cylinders: null, engineLitres: null }

// The figures are plausible, not a maker's.
const models: readonly CatalogueModel[] = [
  {
    badge: { region: 'AU', make: 'Toyota', model: 'HiLux', stem: 'TOYHILUX', series: 'GUN126R' },
    build: { body: 'Dual cab utility', fuel: 'Diesel', engine: '2.8 turbo diesel 1GD-FTV' },
    drive: engineDrive('6-speed automatic', '4x4', 4, 2.8),
    sold: { firstYear: 2015, lastYear: 2026 },
    options: ['Tow bar', 'Canopy', 'Bull bar', 'Premium interior'],
    variants: [
      ['SR5 Double Cab', 63_260],
      ['Workmate', 46_500, { drivetrain: '4x2', transmission: '5-speed manual' }],
      ['Rogue', 71_530, { firstYear: 2018 }],
    ],
  },
  {
    badge: { region: 'AU', make: 'Mazda', model: 'CX-5', stem: 'MAZCX5KF', series: 'KF' },
    build: { body: 'Wagon', fuel: 'Petrol', engine: '2.5 Skyactiv-G' },
    drive: engineDrive('6-speed automatic', 'AWD', 4, 2.5),
    sold: { firstYear: 2017, lastYear: 2026 },
    options: ['Sunroof', 'Bose sound', 'Tow bar'],
    variants: [
      ['Maxx Sport', 41_580],
      ['Akera', 54_200, { engine: '2.5 Skyactiv-G turbo' }],
      ['Touring', 44_100],
    ],
  },
  {
    badge: { region: 'AU', make: 'Ford', model: 'Ranger', stem: 'FORRANGE', series: 'P703' },
    build: { body: 'Dual cab utility', fuel: 'Diesel', engine: '2.0 Bi-Turbo diesel' },
    drive: engineDrive('10-speed automatic', '4x4', 4, 2),
    sold: { firstYear: 2018, lastYear: 2026 },
    options: ['Touring pack', 'Tow pack', 'Roller shutter'],
    variants: [
      ['XLT 2.0 Bi-Turbo', 64_990],
      ['Wildtrak', 71_590, { engine: '3.0 V6 turbo diesel', cylinders: 6, engineLitres: 3 }],
    ],
  },
  {
    badge: { region: 'AU', make: 'Hyundai', model: 'i30', stem: 'HYUI30PD', series: 'PD' },
    build: { body: 'Hatchback', fuel: 'Petrol', engine: '2.0 Nu' },
    drive: engineDrive('6-speed automatic', 'FWD', 4, 2),
    sold: { firstYear: 2017, lastYear: 2026 },
    options: ['Safety pack', 'Metallic paint'],
    variants: [
      ['Active', 28_990],
      ['N Line', 36_220, { engine: '1.6 Gamma turbo', engineLitres: 1.6 }],
    ],
  },
  {
    badge: { region: 'AU', make: 'Tesla', model: 'Model 3', stem: 'TESMODL3', series: 'Highland' },
    build: { body: 'Sedan', fuel: 'Electric', engine: 'Dual motor' },
    drive: { ...electricDrive, drivetrain: 'AWD' },
    sold: { firstYear: 2019, lastYear: 2026 },
    options: ['Enhanced Autopilot', '19-inch wheels', 'White interior'],
    variants: [['Long Range', 64_900]],
  },
  {
    badge: { region: 'AU', make: 'MG', model: 'MG4', stem: 'MGXMG4EV', series: 'EH32' },
    build: { body: 'Hatchback', fuel: 'Electric', engine: 'Single motor' },
    drive: { ...electricDrive, drivetrain: 'RWD' },
    sold: { firstYear: 2023, lastYear: 2026 },
    options: ['Two-tone roof', 'Vehicle-to-load adapter'],
    variants: [
      ['Excite 51', 39_990],
      ['Essence 64', 47_990],
    ],
  },
  {
    badge: { region: 'AU', make: 'Toyota', model: 'RAV4', stem: 'TOYRAV4A', series: 'AXAH54R' },
    build: { body: 'Wagon', fuel: 'Hybrid', engine: '2.5 hybrid A25A-FXS' },
    drive: engineDrive('CVT', 'FWD', 4, 2.5),
    sold: { firstYear: 2019, lastYear: 2026 },
    options: ['Convenience pack', 'Metallic paint'],
    variants: [['GX', 42_260]],
  },
  {
    badge: { region: 'US', make: 'Ford', model: 'F-150', stem: 'FORF150X', series: 'P702' },
    build: { body: 'Crew cab pickup', fuel: 'Petrol', engine: '3.5 EcoBoost V6' },
    drive: engineDrive('10-speed automatic', '4x4', 6, 3.5),
    sold: { firstYear: 2015, lastYear: 2026 },
    options: ['FX4 off-road package', 'Max trailer tow', 'Bed liner'],
    variants: [
      ['XLT SuperCrew 4x4', 56_400],
      ['Lariat', 66_900],
    ],
  },
  {
    badge: {
      region: 'US',
      make: 'Chevrolet',
      model: 'Silverado 1500',
      stem: 'CHESILV1',
      series: 'T1',
    },
    build: { body: 'Crew cab pickup', fuel: 'Petrol', engine: '5.3 EcoTec3 V8' },
    drive: engineDrive('10-speed automatic', '4x4', 8, 5.3),
    sold: { firstYear: 2019, lastYear: 2026 },
    options: ['Z71 package', 'Trailering package'],
    variants: [
      ['LT', 54_700],
      ['High Country', 69_900, { engine: '6.2 EcoTec3 V8', engineLitres: 6.2 }],
    ],
  },
  {
    badge: { region: 'US', make: 'Honda', model: 'Civic', stem: 'HONCIVIC', series: 'FE1' },
    build: { body: 'Sedan', fuel: 'Petrol', engine: '2.0 i-VTEC' },
    drive: engineDrive('CVT', 'FWD', 4, 2),
    sold: { firstYear: 2016, lastYear: 2026 },
    options: ['Leather seats', 'Moonroof'],
    variants: [
      ['EX', 27_400],
      ['Sport Touring', 32_900, { body: 'Hatchback', engine: '1.5 turbo', engineLitres: 1.5 }],
    ],
  },
  {
    badge: { region: 'US', make: 'Tesla', model: 'Model Y', stem: 'TESMODLY', series: 'Juniper' },
    build: { body: 'SUV', fuel: 'Electric', engine: 'Dual motor' },
    drive: { ...electricDrive, drivetrain: 'AWD' },
    sold: { firstYear: 2020, lastYear: 2026 },
    options: ['Full Self-Driving', 'Tow hitch', '21-inch wheels'],
    variants: [['Performance', 57_490]],
  },
  {
    badge: {
      region: 'GCC',
      make: 'Toyota',
      model: 'Land Cruiser',
      stem: 'TOYLANDC',
      series: 'LC300',
    },
    build: { body: 'SUV', fuel: 'Petrol', engine: '3.5 twin-turbo V6' },
    drive: engineDrive('10-speed automatic', '4x4', 6, 3.5),
    sold: { firstYear: 2016, lastYear: 2026 },
    options: ['Sunroof', 'Rear entertainment', 'Cool box', 'Kinetic suspension'],
    variants: [
      ['GXR V6', 309_900],
      [
        'VXR 5.7',
        365_900,
        { series: 'LC200', engine: '5.7 V8', cylinders: 8, engineLitres: 5.7, lastYear: 2022 },
      ],
    ],
  },
  {
    badge: { region: 'GCC', make: 'Nissan', model: 'Patrol', stem: 'NISPATRL', series: 'Y62' },
    build: { body: 'SUV', fuel: 'Petrol', engine: '5.6 V8' },
    drive: engineDrive('7-speed automatic', '4x4', 8, 5.6),
    sold: { firstYear: 2014, lastYear: 2025 },
    options: ['Hydraulic body motion control', 'Bose sound', 'Side steps'],
    variants: [
      ['Platinum City', 297_000],
      ['SE', 239_000, { engine: '4.0 V6', cylinders: 6, engineLitres: 4 }],
    ],
  },
  {
    badge: { region: 'GCC', make: 'Lexus', model: 'LX 600', stem: 'LEXLX600', series: 'VJA310W' },
    build: { body: 'SUV', fuel: 'Petrol', engine: '3.5 twin-turbo V6' },
    drive: engineDrive('10-speed automatic', '4x4', 6, 3.5),
    sold: { firstYear: 2022, lastYear: 2026 },
    options: ['Mark Levinson sound', 'Night view', 'Rear massage seats'],
    variants: [
      ['Signature', 520_000],
      ['VIP', 665_000],
    ],
  },
  {
    badge: { region: 'GCC', make: 'BYD', model: 'Seal', stem: 'BYDSEALX', series: 'EK' },
    build: { body: 'Sedan', fuel: 'Electric', engine: 'Single motor' },
    drive: { ...electricDrive, drivetrain: 'RWD' },
    sold: { firstYear: 2023, lastYear: 2026 },
    options: ['Panoramic roof', 'Head-up display'],
    variants: [['Premium', 149_900]],
  },
]

/** Every vehicle, by region and model. Make, model and variant are unique within a region. */
export const catalogue: readonly CatalogueVehicle[] = models.flatMap(buildVehicles)

/** The models that generated evaluations are of. Those of the RAV4 are made by tests alone. */
export const generatedModels = models.filter(({ badge }) => badge.model !== 'RAV4')

/** A vehicle by its catalogue code, in upper case. */
export function vehicleByCode(adcode: string): CatalogueVehicle | undefined {
  return catalogue.find((vehicle) => vehicle.adcode === adcode)
}

/** The text of an option: make, model and variant, after the year where one is given. */
export function describe({ make, model, variant }: CatalogueVehicle, year?: number): string {
  return `${year === undefined ? '' : `${year} `}${make} ${model} ${variant}`
}

/** The newest model year of a vehicle whose year is unknown. */
export function lastSoldYear({ firstYear, lastYear }: CatalogueVehicle, now: Date): number {
  return Math.max(firstYear, Math.min(lastYear, now.getUTCFullYear()))
}

function buildVehicles(entry: CatalogueModel, index: number): CatalogueVehicle[] {
  const { badge, build, drive, sold, options, variants } = entry
  const { stem, ...name } = badge
  return variants.map(([variant, newPrice, differences], at) => ({
    ...{ ...name, ...build, ...drive, ...sold, ...differences },
    variant,
    newPrice,
    options,
    adcode: `${name.region.slice(0, 2)}0${stem}0${at + 1}`,
    styleId: String(410_000 + index * 100 + at),
  }))
}
