select dealer, eval_id as evaluation_id, doc as document from evaluation
