-- Titles, footers and sold vehicles are skipped too, and a sold vehicle leaves the stock without days of grace.
comment on column core.stock_import.skipped is 'Rows that are no vehicle on hand: blank rows, totals, titles, footers, repeated headers, and vehicles with a status of sold';
comment on column core.stock_unit.off_stock_at is 'When its status became sold, or when the days of grace after the last list with it had passed. The row is marked, never deleted; null: in stock';
