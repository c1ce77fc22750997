select dealer, "EvalID" as evaluation_id, to_jsonb(e) as document from peer_singer.evaluation as e
