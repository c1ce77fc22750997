-- Erasure of customers: the requests and their receipts, and the list that prevents loading those customers again.
create table pii.erasure (
  erasure_id bigint generated always as identity primary key,
  subject_kind varchar(10) not null check (subject_kind in ('email', 'phone', 'eval')),
  subject_masked varchar(120) not null,
  reason varchar(400),
  requested_by varchar(120) not null,
  requested_at timestamptz not null default now(),
  done_at timestamptz,
  receipt jsonb not null
);
comment on table pii.erasure is 'One row per erasure: its receipt, which holds no personal data.';
comment on column pii.erasure.subject_masked is 'The subject of the request, masked; an EvalID is not masked';
comment on column pii.erasure.requested_by is 'user@host that requested it';
comment on column pii.erasure.done_at is 'null: files of the archive must still be removed (pii.erasure_file)';
comment on column pii.erasure.receipt is 'Counts per table, evaluations, files, and what remains: as "forecourt erase --json" printed it';

create table pii.erasure_secret (
  is_only boolean primary key default true check (is_only),
  secret bytea not null check (length(secret) = 32)
);
comment on table pii.erasure_secret is 'The random key of every digest of the suppression list, made by the first erasure. Without it the digests reveal nothing; with it they can be guessed. Protect it like the personal data beside it.';

create table pii.suppressed_evaluation (
  group_id int not null references core.rooftop_group,
  eval_id bigint not null,
  scope varchar(10) not null check (scope in ('customer', 'mention')),
  erasure_id bigint not null references pii.erasure,
  suppressed_at timestamptz not null default now(),
  digests bytea[] not null,
  phrase_words smallint[] not null,
  primary key (group_id, eval_id)
);
comment on table pii.suppressed_evaluation is 'Evaluations whose personal data every load removes before it compares or stores anything. By dealer group, so that it applies to every rooftop that shows them.';
comment on column pii.suppressed_evaluation.scope is 'customer: loaded without its customer; mention: an evaluation of another customer, whose texts named the erased one';
comment on column pii.suppressed_evaluation.digests is 'HMAC-SHA256 of what is removed from its texts: e-mails, phones, names and addresses, each normalised';
comment on column pii.suppressed_evaluation.phrase_words is 'Numbers of words of the names and addresses';

create table pii.suppressed_contact (
  digest bytea primary key,
  kind varchar(10) not null check (kind in ('email', 'phone', 'person')),
  erasure_id bigint not null references pii.erasure,
  suppressed_at timestamptz not null default now()
);
comment on table pii.suppressed_contact is 'Erased e-mails and phones: a later evaluation that carries one is loaded without its customer.';
comment on column pii.suppressed_contact.kind is 'person: a name together with an e-mail, phone or address that other customers share; it matches only with that name';

create table pii.erasure_file (
  sha256 bytea primary key check (length(sha256) = 32),
  noted_at timestamptz not null default now()
);
comment on table pii.erasure_file is 'Files of the archive (links.archive) that must be removed. The row is deleted when the file is removed.';

-- A link or a PDF of an erased evaluation is never stored again, whether a nightly run, a permalink, a paid call or the archive loads it.
create function pii.skip_erased_rows_trg() returns trigger
language plpgsql
as $$
begin
  if exists (
    select from pii.suppressed_evaluation as suppressed
    join core.rooftop using (group_id)
    where rooftop_id = new.rooftop_id and suppressed.eval_id = new.eval_id and scope = 'customer'
  ) then
    if tg_table_name = 'archived_pdf' then
      insert into pii.erasure_file (sha256) values (new.sha256) on conflict do nothing;
    end if;
    return null;
  end if;
  return new;
end
$$;
comment on function pii.skip_erased_rows_trg() is 'Skips rows of evaluations whose customer was erased; a file that came with such a row is recorded for removal.';

create trigger skip_erased_rows before insert on pii.signed_link
  for each row execute function pii.skip_erased_rows_trg();
create trigger skip_erased_rows before insert on pii.archived_pdf
  for each row execute function pii.skip_erased_rows_trg();
