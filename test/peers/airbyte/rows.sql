select dealer::text as dealer, evalid::bigint as evaluation_id, document::jsonb as document
from peer_airbyte.evaluation
