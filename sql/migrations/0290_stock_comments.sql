-- Titles, footers and vehicles that are sold are skipped too, and what is sold leaves the stock without days of grace.
comment on column core.stock_import.skipped is 'Rows that are no vehicle on hand: blank rows, totals, titles and footers, the header once more, and vehicles whose status says that they are sold';
comment on column core.stock_unit.off_stock_at is 'When its status said that it was sold, or the days of grace after the last list that named it had passed; a mark, never a delete. null: in stock';
