-- Erasure of customers: what was asked for and what it did, and the list that keeps those customers from coming back.
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
comment on column pii.erasure.subject_masked is 'What was asked for, masked; the EvalID as it is';
comment on column pii.erasure.requested_by is 'user@host that asked for it';
comment on column pii.erasure.done_at is 'null: files of the archive are still to be removed (pii.erasure_file)';
comment on column pii.erasure.receipt is 'Counts per table, evaluations, files, what is left: as "forecourt erase --json" printed it';

create table pii.erasure_secret (
  is_only boolean primary key default true check (is_only),
  secret bytea not null check (length(secret) = 32)
);
comment on table pii.erasure_secret is 'The random key of every digest of the suppression list. Made by the first erasure; without it the digests say nothing, and with it they can be guessed: it needs the same care as the personal data beside it.';

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
comment on table pii.suppressed_evaluation is 'Evaluations that every load scrubs before anything of them is compared or stored. By dealer group, so that it holds whichever rooftop shows them.';
comment on column pii.suppressed_evaluation.scope is 'customer: loaded without its customer; mention: another customer''s, whose texts named the erased one';
comment on column pii.suppressed_evaluation.digests is 'HMAC-SHA256 of what is taken out of its texts: e-mails, phones, names and addresses, each in its normalised spelling';
comment on column pii.suppressed_evaluation.phrase_words is 'How many words the names and addresses have';

create table pii.suppressed_contact (
  digest bytea primary key,
  kind varchar(10) not null check (kind in ('email', 'phone', 'person')),
  erasure_id bigint not null references pii.erasure,
  suppressed_at timestamptz not null default now()
);
comment on table pii.suppressed_contact is 'Erased e-mails and phones: a later evaluation that carries one is loaded without its customer.';
comment on column pii.suppressed_contact.kind is 'person: a name together with an e-mail, phone or address that others carry too; it counts with that name alone';

create table pii.erasure_file (
  sha256 bytea primary key check (length(sha256) = 32),
  noted_at timestamptz not null default now()
);
comment on table pii.erasure_file is 'Files of the archive (links.archive) that are to be removed. A row goes when its file has gone.';

-- A link or a PDF of an erased evaluation is not kept again, whoever brings it: a night, a permalink, a paid call, the archive.
create function pii.refuse_erased() returns trigger
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
comment on function pii.refuse_erased() is 'Leaves out rows of evaluations whose customer was erased; a file that came with one is noted for removal.';

create trigger refuse_erased before insert on pii.signed_link
  for each row execute function pii.refuse_erased();
create trigger refuse_erased before insert on pii.archived_pdf
  for each row execute function pii.refuse_erased();
