import { headerKey } from './header-name.ts'

// Words in the values that show what a column holds, independent of its header.

function keys(list: string): ReadonlySet<string> {
  return new Set(list.split('|').map(headerKey))
}

/** Known makes, as `headerKey` writes them. */
export const makeKeys = keys(`
  abarth | acura | aion | alfa romeo | alpina | alpine | aston martin | audi | austin | avatr | baic | bentley |
  bestune | bmw | brabus | bugatti | buick | byd | cadillac | caterham | changan | chery | chevrolet | chevy |
  chrysler | citroen | citroën | cupra | dacia | daewoo | daf | daihatsu | datsun | deepal | denza | dfsk | dodge |
  dongfeng | ds | ds automobiles | exeed | faw | ferrari | fiat | fisker | ford | forthing | foton | fpv |
  freightliner | fuso | gac | gac motor | gaz | geely | genesis | gmc | great wall | gwm | haval | hino | holden |
  honda | hongqi | hsv | hummer | hyundai | ineos | infiniti | international | isuzu | isuzu ute | iveco | jac |
  jaecoo | jaguar | jeep | jetour | jmc | kaiyi | karma | kenworth | kia | ktm | lada | lamborghini | lancia |
  land rover | range rover | landrover | ldv | leapmotor | lexus | li auto | lincoln | lotus | lucid | lynk & co |
  mack | mahindra | man | maruti | maruti suzuki | maserati | maxus | maybach | mazda | mclaren | mercedes |
  mercedes benz | mercedes amg | mercedes maybach | mercury | mg | mini | mitsubishi | mitsubishi fuso | morgan |
  nio | nissan | oldsmobile | omoda | opel | ora | pagani | peugeot | plymouth | polestar | pontiac | porsche |
  proton | ram | ravon | renault | rivian | rolls royce | rover | rox | saab | saic | saturn | scania | scion |
  seat | sinotruk | skoda | škoda | skywell | smart | soueast | ssangyong | kgm | subaru | suzuki | tank | tata |
  tesla | toyota | triumph | tvr | ud | ud trucks | vauxhall | vinfast | volkswagen | vw | volvo | voyah |
  western star | xiaomi | xpeng | yutong | zeekr | zotye | zx auto |
  تويوتا | نيسان | هوندا | هيونداي | هونداي | كيا | فورد | شيفروليه | شفروليه | جي ام سي | مرسيدس | مرسيدس بنز |
  بي ام دبليو | بي إم دبليو | اودي | أودي | لكزس | مازدا | ميتسوبيشي | سوزوكي | جيب | دودج | كرايسلر | انفينيتي |
  إنفينيتي | لاند روفر | رنج روفر | بورش | فولكس واجن | فولكسفاغن | رينو | بيجو | شانجان | جيلي | ام جي | إم جي |
  هافال | شيري | جيتور | ايسوزو | إيسوزو | كاديلاك | لينكولن | جاكوار | فيراري | بنتلي | تسلا | سوبارو | فولفو | جينيسيس`)

const bodies =
  /\b(sedan|saloon|wagon|estate|hatch(back)?|suv|crossover|coupe|coupé|convertible|cabriolet|cabrio|roadster|ute|utility|pick-?up|pickup truck|van|minivan|people mover|mpv|truck|bus|cab chassis|sports ?car|sportswagon|liftback|limousine|soft top|hard top|fourgon|tray)\b|سيدان|هاتشباك|كوبيه|بيك ?اب|دفع رباعي|شاحنة/i
const conditions =
  /^(brand ?new|new|used|pre-?owned|second ?hand|demo|demonstrator|ex-?demo|new in stock|near new|certified( pre-?owned)?|cpo|nearly new|n|u|جديد|جديدة|مستعمل|مستعملة)$/i
const transmissions =
  /\b(auto|automatic|manual|cvt|dct|dsg|tiptronic|a\/t|m\/t|\d{1,2}[- ]?speed|sports automatic)\b|اوتوماتيك|أوتوماتيك|عادي|يدوي/i
const fuels =
  /\b(petrol|diesel|gasoline|gas|hybrid|electric|lpg|cng|phev|bev|ulp|unleaded|flex|e85|hydrogen)\b|بنزين|ديزل|هايبرد|كهرباء/i
const specs =
  /^(gcc|gcc specs?|non[- ]?gcc|gulf|gulf arabic|saudi|american|american specs?|usa?|us specs?|european|european specs?|euro specs?|japanese|japanese specs?|korean|korean specs?|canadian|canadian specs?|chinese|chinese specs?|other|other specs?|import|imported|خليجي|سعودي|امريكي|أمريكي|اوروبي|أوروبي|ياباني|كوري|وارد|وارد امريكي|صيني)$/i
const colours =
  /\b(black|white|silver|gr[ea]y|blue|red|green|brown|beige|gold|orange|yellow|purple|maroon|bronze|pearl|cream|navy|burgundy|charcoal|champagne|tan|ivory|pink|turquoise)\b|اسود|أسود|ابيض|أبيض|فضي|رمادي|احمر|أحمر|ازرق|أزرق|بني|ذهبي/i
const states =
  /^(nsw|vic|qld|sa|wa|tas|nt|act|new south wales|victoria|queensland|south australia|western australia|tasmania|northern territory|dubai|abu dhabi|sharjah|ajman|rak|ras al khaimah|fujairah|umm al quwain|[A-Z]{2})$/i

/** How many words at the start of a title are a known make: 0 to 3. */
export function leadingMake(words: readonly string[]): number {
  for (const count of [3, 2, 1])
    if (words.length >= count && makeKeys.has(headerKey(words.slice(0, count).join(''))))
      return count
  return 0
}

/** A longer text is prose that contains such a word by chance. */
function within(words: RegExp): (text: string) => boolean {
  return (text) => text.length <= 40 && words.test(text)
}

/** Whether a text has such a word: a make in any spelling that headers may have, a body style and so on. */
export const wordTests = {
  make: (text: string) => text.length <= 24 && makeKeys.has(headerKey(text)),
  body: within(bodies),
  condition: conditions,
  transmission: within(transmissions),
  fuel: within(fuels),
  spec: specs,
  colour: within(colours),
  state: states,
} as const

const vin = /^(?=.*\d)[A-HJ-NPR-Z0-9]{17}$/i

/** Whether a row has a VIN. */
export function hasVin(texts: readonly string[]): boolean {
  return texts.some((text) => vin.test(text))
}

/** Whether the texts of a row name a vehicle: a VIN, or a make and a number of four digits. */
export function namesVehicle(texts: readonly string[]): boolean {
  const hasMake = texts.some((text) => wordTests.make(text))
  const hasNumber = () => texts.some((text) => /\d[., ]?\d{3}/.test(text))
  return hasVin(texts) || (hasMake && hasNumber())
}
