#include "lib/vault_crypto/store_schema.hpp"

namespace plimsoll::vault {

std::string_view store_ddl() noexcept {
  // EXTERNAL: an envelope does not compress, and a rotation then reads and writes only the piece of
  // a long one that holds its key block.
  return R"sql(
CREATE TABLE vault_keys (
  version int PRIMARY KEY CHECK (version > 0),
  key_id bytea NOT NULL UNIQUE CHECK (octet_length(key_id) = 16),
  wraps_granted bigint NOT NULL DEFAULT 0 CHECK (wraps_granted BETWEEN 0 AND 4294967296),
  added_at timestamptz NOT NULL DEFAULT clock_timestamp());

CREATE TABLE vault_retired_keys (
  version int PRIMARY KEY,
  key_id bytea NOT NULL UNIQUE,
  retired_at timestamptz NOT NULL DEFAULT clock_timestamp());

CREATE TABLE vault_secrets (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant text NOT NULL,
  path text NOT NULL,
  version bigint NOT NULL CHECK (version > 0),
  row_version bigint NOT NULL DEFAULT 1,
  master_version int REFERENCES vault_keys (version),
  envelope bytea,
  changed_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  UNIQUE (tenant, path),
  CHECK ((envelope IS NULL) = (master_version IS NULL)));
ALTER TABLE vault_secrets ALTER COLUMN envelope SET STORAGE EXTERNAL;
CREATE INDEX vault_secrets_by_master ON vault_secrets (master_version);

CREATE TABLE vault_audit (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT clock_timestamp(),
  actor text NOT NULL CHECK (actor <> ''),
  action text NOT NULL,
  tenant text,
  path text,
  secret_version bigint,
  master_version int);
CREATE FUNCTION vault_audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'vault_audit is append only' USING ERRCODE = 'insufficient_privilege';
END $$;
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON vault_audit
  FOR EACH STATEMENT EXECUTE FUNCTION vault_audit_is_append_only();

CREATE TABLE vault_lease (
  name text PRIMARY KEY,
  holder text NOT NULL,
  fence bigint NOT NULL,
  expires_at timestamptz NOT NULL);
)sql";
}

}  // namespace plimsoll::vault
