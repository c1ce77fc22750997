select
  r.rooftop_uid as dealer,
  e.eval_id as evaluation_id,
  jsonb_build_object(
    'VIN', e.vin, 'Registration', c.registration_plate, 'Make', e.make, 'Model', e.model,
    'Year', e.model_year, 'Odometer', e.odometer, 'Condition', e.condition_score,
    'FinalPrice', e.final_price, 'Reconditioning', e.recon_total, 'CreatedAt', e.created_at,
    'CompletedAt', e.completed_at, 'UpdatedAt', e.source_updated_at
  ) as document
from core.evaluation as e
join core.rooftop as r using (rooftop_id)
left join pii.evaluation_customer as c using (rooftop_id, eval_id)
where e.gone_at is null
