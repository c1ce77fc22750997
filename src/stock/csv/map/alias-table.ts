/**
 * The headers that dealers' systems write, by the field that they mean; `|` separates them. Compared as
 * normalised keys (header-name.ts), so case, blanks and punctuation do not matter here.
 */
export const aliasTable = {
  stock_number: `
    stock number | stock no | stock num | stock # | stock id | stock no ss | your stock number |
    dealer stock number | inventory # | inv # | inventory number | unit number | unit id |
    unit no | sku | vehicle reference | internal vehicle number | reference | reference no | ref |
    ref no | lot# | lot number | fleet # | fleet no | رقم المخزون | رقم السيارة | الرقم المرجعي |
    الرقم التسلسلي | رقم السيارة للحسابات | stock code | stk no | stk | stock reference |
    stock ref | vehicle number | dealer stock no | inventory id | رقم الستوك | رقم الاستوك |
    كود السيارة |
    stock item | stock item no | inventory code | stock unit no`,
  vin: `
    vin | vin number | vin no | vehicle vin | vehicle identification number | identification |
    chassis | chassis no | chassis number | vehicle chassis number | vin chassis number |
    vin / chassis | vin raw | frame no | رقم الهيكل | الهيكل | رقم الشاسيه | رقم الشاصي |
    الشاسيه | رقم القاعدة | vin code | frame number | vin/chassis no | رقم الشاصيه |
    vin chassis | vehicle identification | vehicle id number | vin/chassis number`,
  vin_partial: `
    vin last8 | vin last6`,
  plate: `
    rego | rego num | rego no | rego number | rego plate | reg # | reg no | reg number |
    registration | registration no | registration number | registration plate | plate | plate no |
    plate number | license plate | lic plate | licence plate | license | number plate |
    رقم اللوحة | اللوحة | لوحة التسجيل | رقم اللوحة عربي | رقم اللوحة إنجليزي |
    registration mark | tag | رقم لوحة السيارة |
    plates | license no | licence no | tag number | license tag | vehicle registration | vehicle reg |
    reg mark | vrm | vrn`,
  plate_state: `
    rego state | state | plate state | registration jurisdiction | registration state |
    jurisdiction | location state | emirate | plate source | plate code`,
  make: `
    make | make name | manufacturer | brand | vehicle make | car make | make code | marque | oem |
    mfr | الماركة | الصانع | الشركة المصنعة | الشركة | ماركة السيارة | car brand | vehicle brand |
    make description | ماركة | الصانعة |
    mk | maker | make desc | make nm | vehicle manufacturer | manufacturer name | brand name`,
  model: `
    model | model name | vehicle model | car model | model group | model / الموديل |
    type / model | الطراز | الموديل | النوع | model description | طراز |
    mdl | model desc | model nm | model line | model range | model family | car line | nameplate`,
  variant: `
    variant | variant name | trim | trim level | trim name | motors trim | badge | grade |
    grade name | model grade | version | edition | derivative | specification | model detail |
    style | trim-style | style description | spec level | الفئة | فئة السيارة |
    sub model | badge name | badge description | trim description | trim package | trim line |
    grade description | variant description | model variant | model trim | derivative name`,
  series: `
    series | series name | model series | generation | model code | model number | body code`,
  model_year: `
    year | yr | model year | my | year group | manu year | year of manufacture |
    manufacture year | manufacturing year | mfg year | production year | year of production |
    build year | registration year | year of registration | vehicle year | السنة | سنة الصنع |
    سنة الموديل | year model | yom | year built | build yr | سنة | موديل السنة |
    year of model | manufactured year | manufactured | my year | built year | car year | prod year | year made |
    compliance year | plate year | vintage | سنة التصنيع | موديل سنة`,
  build_date: `
    build date | built | manu month | manufacture month | production date`,
  compliance_date: `
    compliance date | complied | compliance`,
  registration_date: `
    registration date | 1st registration | 1st registration date | first registration |
    first registration date | month of registration`,
  registration_expiry: `
    registration expiry | rego expiry | reg expiry | reg exp | licence expiry`,
  title_combined: `
    vehicle | vehicle info | title | name | car name | heading | header | full vehicle |
    description of vehicle | unit | make/model | make model | make & model | make and model | year make model |
    make model variant | make model year | make model badge | make model series`,
  body: `
    body | body type | body style | vehicle type | vehicle sub category | car type | segment |
    نوع الهيكل`,
  transmission: `
    transmission | tranmission | trans | gearbox | gear type | transmission type |
    transmission description | transmission desc | gears | ناقل الحركة | القير`,
  fuel: `
    fuel | fuel type | type of fuel | power type | نوع الوقود | الوقود`,
  engine: `
    engine | engine description | engine type | engine size | engine capacity |
    engine capacity cc | engine displacement | cc | capacity | liters | المحرك`,
  cylinders: `
    cylinders | engine cylinders | cyl | no. of cylinders | cylindersin engine`,
  drive: `
    drivetrain | drive type | drive line | drive | powertrain`,
  colour_exterior: `
    colour | color | colour name | body colour | exterior color | exterior colour | ext color |
    ext color generic | exterior colours | paint color | vehicle color | اللون | اللون الخارجي |
    لون السيارة | paint | لون`,
  colour_interior: `
    interior color | int color | in color | int color generic | interior colour | trim colour |
    interior | interior colours | upholstery | اللون الداخلي`,
  colour_combined: `
    colour ext int | colours | colors`,
  odometer: `
    odometer | odometer reading | odo | mileage | milage | mileage value | miles |
    vehicle mileage | kilometers | kilometres | km | kms | kms driven | km driven | mileage km |
    miles fs | العداد | قراءة العداد | الممشى | المسافة | كيلومترات | عدد الكيلومترات | klms |
    klm | odo reading | current km | current odometer | kilometrage | عداد | عداد الكيلومترات |
    odometer km | mileage reading | km reading | speedo | speedometer | speedo reading | distance |
    distance travelled | kms travelled | km travelled | travelled | ks | current mileage |
    current odo | current kms | kilometre reading | odometer value | عدد الكيلومترات المقطوعة`,
  odometer_unit: `
    mileage.unit | odometer unit | unit of distance`,
  condition: `
    condition | new/used | used or new | used/new | stock type | listing type | inventory type |
    state of vehicle | is new | vehicle condition | حالة المركبة`,
  certified: `
    certified | cpo | certified pre owned | oemcertified | dealer certified`,
  price_asking: `
    price | asking price | list price | selling price | sale price | internet price |
    advertised price | retail | retail price | price current | price formatted | price aed |
    drive away price | driveaway | dap | egc price | price egc | regular price | car prices |
    السعر | سعر البيع | sell price | web price | cash price | ticket price | display price |
    screen price | advertised | retail asking price | السعر المطلوب | سعر |
    adv price | now price | special price | special | offer price | promo price | promotional price |
    today's price | our price | current price | final price | sales price | ask price | asking | ask |
    sell value | website price | online price | car price | vehicle price | unit price | window price |
    showroom price | listed price | on road price | otr price | price otr | otr | price now |
    drive away amount | price drive away | was/now price | was now | was price | old price |
    previous price | original price | dealer price | min price | max price | price from | price to |
    price range | was | now | market price | السعر النقدي | سعر الكاش | السعر النهائي | سعر السيارة | سعر العرض`,
  price_type: `
    price type | egc`,
  price_currency: `
    currency | cur | العملة | currency code |
    ccy | price currency | iso currency | currency iso`,
  price_msrp: `
    msrp | sticker price | msrpprice | vehicle msrp | rrp | list new price`,
  cost: `
    cost | unit cost | cost price | dealer cost | price cost | invoice | invoice price |
    invoice amount | purchase price | stand in value | acv | التكلفة | سعر الشراء | total cost |
    landed cost | buy price | net cost | stand in | سعر التكلفة |
    vehicle cost | stock cost | buying price | bought for | bought price | purchase cost |
    purchase amount | purchase value | acquisition cost | acquisition price | book cost |
    invoice value | invoice total | actual cash value | cost amount | cost value | buy cost`,
  price_wholesale: `
    wholesale | price wholesale | trade price | trade in value | mm trade valuation |
    mmr wholesale | book value | book`,
  days_in_stock: `
    age | days | days in stock | stock days | age in days | days in inventory | dom |
    group stock days`,
  received_date: `
    date in stock | received date | date received | date added | inventory since | purchase date |
    stock date | invoice date | create date | list date | acquired | acquired date | acquired on |
    date acquired | stocked date | date purchased | arrival date | intake date | stock in date |
    تاريخ الشراء | تاريخ الدخول |
    date in | in date | in stock date | stock entry date | entry date | date of entry | date entered |
    date into stock | entry into stock date | in stock since | in stock from | stock since |
    stocked in | stocked on | stocked | arrival | arrived on | date of arrival | date arrived |
    received | received on | date of receipt | landed | landed date | date landed | bought date |
    date bought | bought on | buy date | purchased | purchased on | date of purchase |
    acquisition date | date of acquisition | date on lot | lot date | on lot since | inventory date |
    date in inventory | date in yard | yard date | yard in date | check in date | date checked in |
    booked in | booked in date | date booked in | trade in date | date traded in | added |
    added on | added date | added to stock | created | created at | created on | created date |
    date created | listed date | date listed | listed on | listing date | delivered date |
    delivery date | تاريخ الوصول | تاريخ الاستلام | تاريخ الإدخال | تاريخ الإضافة |
    تاريخ دخول المخزون`,
  location: `
    location | lot location | branch | yard | yard code | yard name | rooftop | dealer name |
    dealership name | store | store code | dealer id | dealership id | dealership | dealer code |
    vehicle location | current location | site | city | region | emirate location | الموقع |
    المعرض | الفرع | المدينة`,
  status: `
    status | vehicle status | sale status | stock status | inventory status | availability |
    reserved | active | حالة السيارة`,
  sold: `
    sold | is sold | sold yes/no | sold date | date sold | sold on | sold at | date of sale | sold to | buyer | purchaser |
    مباع | مباعة | تم البيع | تاريخ البيع | المشتري`,
  available: `
    available | is available | still available | in stock | instock | on hand | متاح | متاحة | متوفر | متوفرة`,
  photos: `
    photos | photo | image list | image url | image urls | picture urls | photo url list |
    photo links | photo urls | images | image | image[0].url | photo path |
    website link for images | صورة`,
  photo_count: `
    photo count | photos count | image count | physical images`,
  gcc_spec: `
    gcc | gcc spec | gcc specs | regional specs | specs | spec | target market | origin |
    brand type | المواصفات | مواصفات | الوارد`,
  adcode: `
    adcode | autodata code |
    ad code | autodata | autodata id | autodata adcode`,
  nvic: `
    nvic | nvic code`,
  redbook_code: `
    redbook code | specification code | m&m code | vehicle code`,
  engine_number: `
    engine number | engine no | رقم المحرك`,
  owners: `
    owners | previous owners | no of owners`,
  notes: `
    comments | notes | description | vehicle description | adv description | remarks |
    seller comments`,
  url: `
    url | link | vdp | vdp url | permalink | car details link | shorten vdp url`,
  row_index: `
    # | s# | sr no | s.no | serial | index | column1 | unnamed: 0 | no | م | row | row number |
    row no | line no | record no | مسلسل | تسلسل`,
} as const
