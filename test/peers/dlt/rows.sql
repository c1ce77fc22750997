select
  dealer,
  eval_id as evaluation_id,
  jsonb_build_object(
    'EvalID', d -> 'eval_id', 'VIN', d -> 'vin', 'Make', d -> 'make', 'Model', d -> 'model', 'Variant', d -> 'variant',
    'Year', d -> 'year', 'Registration', d -> 'registration', 'RegistrationState', d -> 'registration_state',
    'Odometer', d -> 'odometer', 'Colour', d -> 'colour', 'Condition', d -> 'condition', 'Notes', d -> 'notes',
    'CreatedAt', d -> 'created_at', 'CompletedAt', d -> 'completed_at', 'UpdatedAt', d -> 'updated_at',
    'EntryDate', d -> 'entry_date', 'FinalPrice', d -> 'final_price', 'UserPrices', d -> 'user_prices',
    'UserName', d -> 'user_name', 'UserEmail', d -> 'user_email', 'Reconditioning', d -> 'reconditioning',
    'reconditioning_list', d -> 'reconditioning_list', 'CarPics', d -> 'car_pics', 'Photos', d -> 'photos',
    'customFields', d -> 'custom_fields', 'DealerID', d -> 'dealer_id', 'CustomerName', d -> 'customer_name',
    'CustomerPhone', d -> 'customer_phone', 'CustomerEmail', d -> 'customer_email', 'CustomerPostcode', d -> 'customer_postcode',
    'CustomerState', d -> 'customer_state', 'CustomerAddress', d -> 'customer_address', 'CustomerSuburb', d -> 'customer_suburb'
  ) as document
from peer_dlt.evaluation as e, to_jsonb(e) as d
