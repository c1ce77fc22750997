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
    mdl | model desc | model nm | model line | model range | model family | car line | nameplate | family`,
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
    vehicle mileage | kilometer | kilometers | kilometres | km | kms | kms driven | km driven | mileage km |
    miles fs | العداد | قراءة العداد | الممشى | المسافة | كيلومترات | عدد الكيلومترات | klms |
    klm | odo reading | odom | current km | current odometer | kilometrage | عداد | عداد الكيلومترات |
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
    invoice value | invoice total | invoice cost | inv amount | actual cash value | cost amount | cost value | buy cost |
    our cost | siv`,
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

type Field = keyof typeof aliasTable

/**
 * Headers in French, German and Spanish, and further Arabic ones, by the field that they mean. Accents may be left out, as many systems do.
 */
export const aliasLanguages: Partial<Record<Field, string>> = {
  stock_number: `
    numéro de stock | numéro stock | n° de stock | n° stock | nº de stock | nº stock | no de stock | num stock | référence stock |
    réf stock | référence véhicule | numéro de parc | n° parc | n° de parc | numéro interne | n° interne | référence interne |
    réf interne | code véhicule | numéro de police | n° police | référence | réf |
    bestandsnummer | bestandsnr | bestands-nr | lagernummer | lagernr | lager-nr | lagerwagennummer | fahrzeugnummer | fahrzeugnr |
    fahrzeug-nr | fzg-nr | fzgnr | fzg nummer | interne nummer | interne nr | interne fahrzeugnummer | wagennummer | wagen-nr |
    kommissionsnummer | komm-nr | kommnr | stocknummer | stocknr | inventarnummer | inventarnr |
    número de stock | número stock | núm stock | número de inventario | nº inventario | nº de inventario | no inventario |
    no de inventario | referencia | ref interna | referencia interna | número interno | nº interno | código interno |
    código de vehículo | código vehículo | número económico | no económico | número de unidad | nº unidad | no de unidad |
    referencia vehículo |
    رقم المركبة | كود المخزون | رقم المخزن | رقم السيارة في المخزون | رقم الصنف | كود المركبة`,
  vin: `
    châssis | numéro de châssis | numéro châssis | n° de châssis | n° châssis | nº de châssis | no châssis | numéro de série | n° de série |
    n° série | nº de série | numéro vin | n° vin | code vin |
    fahrgestellnummer | fahrgestellnr | fahrgestell-nr | fahrgestell | fin | fin nummer | fin/vin | fin vin | vin/fin | fgstnr | fgst-nr |
    fg-nr | fahrzeug-identifizierungsnummer | fahrzeugidentifizierungsnummer | fahrzeugidentifikationsnummer |
    fahrzeug-identifikationsnummer | fahrzeug-ident-nr | fahrzeugidentnummer | ident-nr | fahrzeug ident nummer |
    bastidor | número de bastidor | número bastidor | nº bastidor | nº de bastidor | n° de bastidor | núm bastidor | chasis |
    número de chasis | número chasis | nº chasis | nº de chasis | no de chasis | no chasis | niv | número de identificación vehicular |
    número vin | nº vin | número de vin |
    رقم الشاسي | الشاصي | الشاسي | رقم تعريف المركبة | رقم هيكل السيارة | رقم هيكل المركبة | رقم شاسيه السيارة`,
  plate: `
    immat | plaque | plaque d'immatriculation | plaque immatriculation | numéro d'immatriculation | numéro immatriculation |
    n° immatriculation | n° d'immatriculation | n° immat | no immatriculation |
    kennzeichen | amtl kennzeichen | amtliches kennzeichen | kfz kennzeichen | kfz-kz | nummernschild | polizeiliches kennzeichen |
    matrícula | placa | placas | número de placa | nº placa | no placa | no de placa | nº de placa | número de matrícula |
    nº matrícula | nº de matrícula | patente | dominio |
    لوحة السيارة | لوحة المركبة | رقم لوحة المركبة | اللوحات | رقم التسجيل`,
  make: `
    marque | constructeur | marque véhicule | marque du véhicule | hersteller | marke | fabrikat | automarke | fahrzeugmarke |
    fahrzeughersteller | marca | fabricante | marca vehículo | marca del vehículo | ماركة المركبة | صانع السيارة | الماركه التجارية`,
  model: `
    modèle | modèle véhicule | modèle du véhicule | désignation modèle | modell | modellbezeichnung | modellname | fahrzeugmodell |
    fahrzeugtyp | modelo vehículo | modelo del vehículo | nombre del modelo | اسم الموديل | اسم الطراز | طراز السيارة | طراز المركبة`,
  variant: `
    finition | niveau de finition | version véhicule | version commerciale | variante | ausführung | ausstattungslinie | modellvariante |
    ausstattungsvariante | versión | acabado | versión comercial | الفئه الفرعية | فئة المركبة | فئة الموديل`,
  series: `
    gamme | génération | baureihe | modellreihe | generación | serie modelo`,
  model_year: `
    année | année modèle | année-modèle | année du modèle | millésime | année de fabrication | année fabrication |
    année de construction | année véhicule | année de production |
    baujahr | bj | modelljahr | mj | jahr | produktionsjahr | herstellungsjahr | fertigungsjahr |
    año | año modelo | año del modelo | año de modelo | modelo año | año fabricación | año de fabricación | año de producción |
    año vehículo | año del vehículo |
    عام الصنع | سنة الإنتاج | سنة الطراز | تاريخ الصنع | عام الموديل | سنة التصنيع | سنة صنع السيارة`,
  registration_date: `
    date de mise en circulation | date mise en circulation | mise en circulation | mec | date mec | date de mec | dmec |
    première mise en circulation | date de première mise en circulation | 1ère mise en circulation |
    date 1ère mise en circulation | date de 1ère mise en circulation | date d'immatriculation | date immatriculation |
    1ère immatriculation | date 1ère immatriculation | première immatriculation | date de première immatriculation |
    erstzulassung | erstzulassungsdatum | datum erstzulassung | datum der erstzulassung | ez | ez datum | zulassungsdatum |
    zulassung | tag der erstzulassung |
    fecha de matriculación | fecha matriculación | primera matriculación | fecha primera matriculación |
    fecha de primera matriculación | fecha de matrícula | fecha 1ª matriculación | fecha de registro |
    تاريخ التسجيل | تاريخ الترخيص | تاريخ أول تسجيل`,
  registration_expiry: `
    تاريخ انتهاء الاستمارة | انتهاء الاستمارة | تاريخ انتهاء الرخصة | hu | hu bis | tüv | tüv bis | nächste hu | contrôle technique |
    itv | fecha itv | itv hasta`,
  title_combined: `
    véhicule | désignation | désignation véhicule | libellé véhicule | fahrzeug | fahrzeugbezeichnung | bezeichnung | vehículo |
    descripción del vehículo | marque modèle | marque/modèle | marke/modell | marke modell | marca/modelo | marca y modelo |
    marca modelo | hersteller modell`,
  body: `
    carrosserie | type de carrosserie | karosserie | karosserieform | aufbau | aufbauart | carrocería | tipo de carrocería |
    tipo carrocería`,
  transmission: `
    boîte | boîte de vitesses | boîte de vitesse | boîte vitesses | type de boîte | getriebe | getriebeart | schaltung | transmisión |
    caja | caja de cambios | cambio | tipo de cambio de marchas | tipo de transmisión`,
  fuel: `
    carburant | énergie | type de carburant | kraftstoff | kraftstoffart | treibstoff | antriebsart | combustible |
    tipo de combustible | tipo combustible`,
  engine: `
    moteur | motorisation | cylindrée | motor | hubraum | motorisierung | cilindrada | cilindraje`,
  colour_exterior: `
    couleur | couleur extérieure | teinte | couleur carrosserie | couleur véhicule | farbe | außenfarbe | lackierung | lackfarbe |
    fahrzeugfarbe | color exterior | color del vehículo | color vehículo | color carrocería`,
  colour_interior: `
    couleur intérieure | sellerie | intérieur | innenfarbe | polster | polsterung | innenausstattung | color interior | tapicería`,
  odometer: `
    kilométrage | kilométrage compteur | kilométrage réel | kilométrage actuel | kilomètres | nb km | nombre de km |
    nombre de kilomètres | km compteur | km au compteur | compteur | relevé kilométrique | km parcourus |
    kilometerstand | km stand | kmstand | laufleistung | tachostand | tacho | gefahrene km | gefahrene kilometer | km leistung |
    fahrleistung | aktueller kilometerstand | laufleistung km |
    kilometraje | kilómetros | kilometraje actual | km recorridos | kilómetros recorridos | odómetro | lectura del odómetro |
    recorrido | cuentakilómetros |
    ممشى السيارة | المسافة المقطوعة | عداد المسافة | قراءة عداد المسافة | الكيلومترات | كم | عداد السيارة | الممشى كم`,
  condition: `
    neuf/occasion | vn/vo | neuf ou occasion | zustand | fahrzeugzustand | neu/gebraucht | fahrzeugart | nuevo/usado | condición |
    nuevo o usado | حالة السيارة الفنية | جديد/مستعمل`,
  price_asking: `
    prix | prix de vente | prix vente | prix ttc | prix de vente ttc | prix vente ttc | prix affiché | prix public |
    prix internet | prix web | prix client | prix particulier | prix catalogue vo | prix de vente public | prix annonce |
    tarif | tarif ttc | prix site | pv ttc | pvttc |
    preis | verkaufspreis | vk | vk preis | vkpreis | vk brutto | vk preis brutto | preis inkl mwst | bruttopreis | preis brutto | endpreis | angebotspreis | barpreis |
    internetpreis | onlinepreis | fahrzeugpreis | verkaufspreis brutto | brutto verkaufspreis | hauspreis | inseratspreis |
    börsenpreis | kundenpreis |
    precio | precio de venta | precio venta | pvp | precio contado | precio al contado | precio público | precio al público |
    precio publicado | precio web | precio internet | precio de venta al público | precio final | precio anunciado |
    precio vehículo | precio del vehículo | precio de contado |
    السعر شامل الضريبة | السعر شامل ضريبة القيمة المضافة | سعر التجزئة | سعر البيع المقترح | سعر بيع السيارة | السعر المعروض |
    سعر المركبة | قيمة البيع | سعر البيع النهائي`,
  price_currency: `
    devise | monnaie | währung | moneda | divisa | عملة السعر`,
  price_msrp: `
    prix neuf | prix catalogue | prix du neuf | valeur à neuf | neupreis | listenpreis | bruttolistenpreis | uvp | blp |
    unverbindliche preisempfehlung | precio nuevo | precio de nuevo | precio tarifa`,
  cost: `
    prix d'achat | prix achat | prix d'achat ht | prix d'achat ttc | prix achat ht | prix achat ttc | prix de revient | prix revient |
    coût | coût total | coût de revient | coût d'achat | prix de revient ht | montant achat | montant d'achat | valeur d'achat |
    valeur stock | pa ht | pru |
    einkaufspreis | ek | ek preis | ekpreis | ek netto | ek brutto | netto ek | einstandspreis | einstandswert | ankaufspreis | kosten |
    gestehungskosten | einkaufspreis netto | einkaufspreis brutto | anschaffungskosten | einkaufswert | lagerwert | buchwert |
    precio de compra | precio compra | coste | costo | coste total | costo total | precio de costo | precio de coste |
    coste de compra | costo de compra | coste de adquisición | costo de adquisición | importe compra | importe de compra |
    valor de compra | costo unidad |
    الكلفة | سعر الكلفة | تكلفة الشراء | قيمة الشراء | التكلفة الإجمالية | إجمالي التكلفة | تكلفة السيارة | ثمن الشراء | سعر شراء السيارة`,
  price_wholesale: `
    prix marchand | prix pro | prix professionnel | prix de reprise | valeur de reprise | prix reprise | cote argus | valeur argus |
    händlerpreis | händlerverkaufspreis | händlereinkaufswert | dat wert | schwacke | händler-vk |
    precio mayorista | precio profesional | precio profesionales | valor de tasación | precio tasación | سعر الجملة`,
  days_in_stock: `
    jours en stock | jours de stock | jours stock | nb jours stock | nb jours en stock | nombre de jours en stock | âge stock |
    ancienneté stock | durée de stockage | standtage | standzeit | lagertage | tage im bestand | tage am lager | bestandstage |
    lagerdauer | días en stock | días de stock | días stock | días en inventario | días inventario | días de inventario |
    أيام المخزون | عدد أيام المخزون | الأيام في المخزون | مدة البقاء في المخزون | عدد الأيام في المخزون`,
  received_date: `
    date d'entrée | date entrée | date d'entrée en stock | date d'entrée stock | date entrée stock | date entrée en stock |
    date de mise en stock | date mise en stock | mise en stock | date d'achat | date achat | date de réception | date réception |
    date d'arrivée | date arrivée | entrée en stock | entré le | acheté le | date d'acquisition | date de reprise |
    date entrée parc | date d'entrée parc | date de stockage | en stock depuis |
    eingangsdatum | eingang am | einkaufsdatum | ankaufsdatum | zugangsdatum | zugang am | lagerdatum | lagerzugang | lagereingang |
    einstandsdatum | wareneingang | datum eingang | datum zugang | datum einkauf | bestand seit | im bestand seit | am lager seit |
    lager seit | auf lager seit | kaufdatum | anschaffungsdatum | hereinnahme | hereinnahmedatum | bestandsdatum | standdatum |
    fecha de entrada | fecha entrada | fecha de entrada en stock | fecha entrada stock | fecha de ingreso | fecha ingreso |
    fecha de compra | fecha compra | fecha de alta | fecha alta | fecha de recepción | fecha recepción | fecha de llegada |
    fecha llegada | fecha de adquisición | fecha stock | en stock desde | fecha de entrada a stock | fecha ingreso inventario |
    fecha de ingreso a inventario |
    تاريخ دخول المعرض | تاريخ دخول السيارة | تاريخ التوريد | تاريخ الإضافة للمخزون | تاريخ إضافة السيارة | تاريخ شراء السيارة |
    تاريخ الوصول للمعرض | تاريخ الدخول للمخزون`,
  location: `
    concession | agence | établissement | point de vente | emplacement | lieu | parc | lieu de stockage | standort | filiale | betrieb |
    niederlassung | autohaus | lagerort | sucursal | ubicación | sede | concesionario | tienda | centro | agencia | المستودع | اسم المعرض`,
  status: `
    statut | statut véhicule | disponibilité | verkaufsstatus | bestandsstatus | verfügbarkeit | fahrzeugstatus | estatus |
    situación | disponibilidad | estado del vehículo en stock | حالة التوفر | حالة البيع`,
  sold: `
    vendu | vendue | vendu le | date de vente | date vente | vendu à | acheteur | verkauft | verkauft am | verkaufsdatum | verkauft an |
    käufer | vendido | vendida | vendido el | fecha de venta | fecha venta | vendido a | comprador`,
  available: `
    disponible | dispo | verfügbar | auf lager | en existencia`,
  photo_count: `
    nb photos | nombre de photos | anzahl bilder | anzahl fotos | número de fotos`,
  owners: `
    nombre de propriétaires | nb propriétaires | vorbesitzer | anzahl vorbesitzer | anzahl halter | halter | propietarios |
    número de propietarios | عدد الملاك`,
  notes: `
    commentaire | commentaires | remarque | remarques | observations | bemerkung | bemerkungen | beschreibung | kommentar |
    observaciones | comentarios | descripción | notas | ملاحظات | الوصف`,
  engine_number: `
    numéro moteur | n° moteur | motornummer | motor-nr | número de motor | nº motor`,
  row_index: `
    lfd nr | lfd-nr | laufende nummer | pos | zeile`,
}

/** Those that are less specific, as in aliases.ts: where the file has a better name for the field too, that one wins. */
export const weakLanguages: Readonly<Record<number, string>> = {
  0.8: `châssis | numéro de châssis | numéro châssis | n° de châssis | n° châssis | nº de châssis | no châssis | fahrgestell | chasis | ek brutto | prix d'achat ttc | prix achat ttc | prix internet | prix web | precio web |
    precio internet | internetpreis | onlinepreis | numéro de série | n° de série | n° série | nº de série | date de mise en stock`,
  0.72: `référence | réf | referencia | fahrzeugnummer | fahrzeugnr | fahrzeug-nr | fzg-nr | fzgnr | kommissionsnummer | komm-nr |
    kommnr | date d'achat | date achat | fecha de compra | fecha compra | einkaufsdatum | ankaufsdatum | kaufdatum | رقم المركبة |
    رقم الصنف | fahrzeugtyp | numéro de police | n° police | kosten | fecha de registro | رقم التسجيل | تاريخ الصنع`,
  0.65: `lagerwert | buchwert | valeur stock | tarif | véhicule | fahrzeug | vehículo | bezeichnung | désignation | compteur | recorrido |
    tacho | fecha de alta | fecha alta | date de reprise | parc | centro | betrieb | zulassung | standdatum | motor`,
}

/** Headers that name this field in some files and another in others. */
export const ambiguousLanguages: Readonly<Record<string, Partial<Record<Field, number>>>> = {
  modelo: { model: 0.75, model_year: 0.7 },
  immatriculation: { plate: 0.85, registration_date: 0.7 },
  matriculación: { registration_date: 0.75, plate: 0.6 },
  typ: { model: 0.65, body: 0.6, variant: 0.55, condition: 0.5 },
  tipo: { body: 0.65, condition: 0.6, model: 0.55 },
  série: { series: 0.75, vin: 0.6 },
  estado: { condition: 0.65, status: 0.65, plate_state: 0.5 },
  état: { condition: 0.7, status: 0.65 },
  nr: { row_index: 0.6, stock_number: 0.3 },
  numéro: { row_index: 0.6, stock_number: 0.3 },
  'prix ht': { price_asking: 0.72, price_wholesale: 0.55 },
  'prix de vente ht': { price_asking: 0.72, price_wholesale: 0.55 },
  nettopreis: { price_asking: 0.72, price_wholesale: 0.55 },
  'preis netto': { price_asking: 0.72, price_wholesale: 0.55 },
  'vk preis netto': { price_asking: 0.72, price_wholesale: 0.55 },
  'verkaufspreis netto': { price_asking: 0.72, price_wholesale: 0.55 },
  'vk netto': { price_asking: 0.72, price_wholesale: 0.55 },
}
