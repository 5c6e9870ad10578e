-- A store of schema 0002, filled by tests/upgrade/contents.py. Loaded by `load` in test_saved_stores.py.
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
CREATE TABLE job (
	id VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	args TEXT NOT NULL, 
	status VARCHAR NOT NULL, 
	dedupe VARCHAR, 
	lane VARCHAR, 
	run_at_ms BIGINT NOT NULL, 
	lease_until_ms BIGINT, 
	attempts INTEGER NOT NULL, 
	last_error TEXT, 
	created_ms BIGINT NOT NULL, 
	CONSTRAINT pk_job PRIMARY KEY (id)
);
CREATE INDEX ix_job_due ON job (status, run_at_ms);
CREATE UNIQUE INDEX uq_job_dedupe_waiting ON job (dedupe) WHERE status = 'waiting';
CREATE UNIQUE INDEX uq_job_lane_running ON job (lane) WHERE status = 'running';
CREATE TABLE memory (
	space VARCHAR NOT NULL, 
	id VARCHAR NOT NULL, 
	owner VARCHAR NOT NULL, 
	agent VARCHAR NOT NULL, 
	door VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	layer VARCHAR NOT NULL, 
	status VARCHAR NOT NULL, 
	title TEXT NOT NULL, 
	text TEXT NOT NULL, 
	chars INTEGER NOT NULL, 
	part_count INTEGER NOT NULL, 
	tags TEXT NOT NULL, 
	source VARCHAR NOT NULL, 
	"key" VARCHAR, 
	origin TEXT NOT NULL, 
	revision INTEGER NOT NULL, 
	event_ms BIGINT NOT NULL, 
	created_ms BIGINT NOT NULL, 
	updated_ms BIGINT NOT NULL, 
	expires_ms BIGINT, 
	CONSTRAINT pk_memory PRIMARY KEY (space, id)
);
CREATE INDEX ix_memory_id ON memory (id);
CREATE INDEX ix_memory_listing ON memory (space, created_ms, id, part_count, expires_ms);
CREATE UNIQUE INDEX uq_memory_key ON memory (space, owner, "key") WHERE key IS NOT NULL;
CREATE TABLE memory_link (
	space VARCHAR NOT NULL, 
	from_memory VARCHAR NOT NULL, 
	relation VARCHAR NOT NULL, 
	to_memory VARCHAR NOT NULL, 
	created_ms BIGINT NOT NULL, 
	CONSTRAINT pk_memory_link PRIMARY KEY (space, from_memory, relation, to_memory)
);
CREATE INDEX ix_memory_link_to ON memory_link (to_memory);
CREATE TABLE memory_part (
	space VARCHAR NOT NULL, 
	id VARCHAR NOT NULL, 
	memory VARCHAR NOT NULL, 
	seq INTEGER NOT NULL, 
	start INTEGER NOT NULL, 
	length INTEGER NOT NULL, 
	CONSTRAINT pk_memory_part PRIMARY KEY (space, id)
);
CREATE INDEX ix_memory_part_id ON memory_part (id);
CREATE INDEX ix_memory_part_memory ON memory_part (space, memory, seq);
CREATE TABLE memory_revision (
	space VARCHAR NOT NULL, 
	memory VARCHAR NOT NULL, 
	revision INTEGER NOT NULL, 
	title TEXT NOT NULL, 
	text TEXT NOT NULL, 
	tags TEXT NOT NULL, 
	replaced_ms BIGINT NOT NULL, 
	replaced_by VARCHAR NOT NULL, 
	CONSTRAINT pk_memory_revision PRIMARY KEY (space, memory, revision)
);
CREATE TABLE search_chunk (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	space VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	ref VARCHAR NOT NULL, 
	piece VARCHAR NOT NULL, 
	seq INTEGER NOT NULL, 
	start INTEGER NOT NULL, 
	text TEXT NOT NULL, 
	context TEXT NOT NULL, 
	hash VARCHAR NOT NULL, 
	owner VARCHAR NOT NULL, 
	layer VARCHAR NOT NULL, 
	status VARCHAR NOT NULL, 
	source VARCHAR NOT NULL, 
	tags TEXT NOT NULL, 
	event_ms BIGINT NOT NULL, 
	created_ms BIGINT NOT NULL, 
	expires_ms BIGINT
);
CREATE INDEX ix_search_chunk_space_ref_seq ON search_chunk (space, ref, seq);
CREATE TABLE search_model (
	id INTEGER NOT NULL, 
	name VARCHAR NOT NULL, 
	dims INTEGER NOT NULL, 
	created_ms BIGINT NOT NULL, 
	CONSTRAINT pk_search_model PRIMARY KEY (id), 
	CONSTRAINT uq_search_model_name UNIQUE (name)
);
CREATE TABLE search_pending (
	chunk BIGINT NOT NULL, 
	space VARCHAR NOT NULL, 
	CONSTRAINT pk_search_pending PRIMARY KEY (chunk)
);
CREATE INDEX ix_search_pending_space ON search_pending (space);
CREATE TABLE search_vector (
	id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT, 
	space VARCHAR NOT NULL, 
	chunk BIGINT NOT NULL, 
	model INTEGER NOT NULL, 
	vec BLOB NOT NULL
);
CREATE INDEX ix_search_vector_model_id ON search_vector (model, id);
CREATE UNIQUE INDEX uq_search_vector_chunk_model ON search_vector (chunk, model, space);
CREATE TABLE session_transcript (
	owner VARCHAR NOT NULL, 
	session_id VARCHAR NOT NULL, 
	space VARCHAR NOT NULL, 
	memory VARCHAR NOT NULL, 
	CONSTRAINT pk_session_transcript PRIMARY KEY (owner, session_id)
);
CREATE INDEX ix_session_transcript_memory ON session_transcript (memory);
CREATE TABLE space (
	id VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	owner VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	created_ms BIGINT NOT NULL, 
	CONSTRAINT pk_space PRIMARY KEY (id)
);
CREATE INDEX ix_space_owner_name ON space (kind, owner, name);
CREATE TABLE tombstone (
	space VARCHAR NOT NULL, 
	memory VARCHAR NOT NULL, 
	owner VARCHAR NOT NULL, 
	"key" VARCHAR, 
	kind VARCHAR NOT NULL, 
	removed_ms BIGINT NOT NULL, 
	removed_by VARCHAR NOT NULL, 
	CONSTRAINT pk_tombstone PRIMARY KEY (space, memory)
);
CREATE INDEX ix_tombstone_key ON tombstone (owner, "key");
CREATE TABLE transcript_file (
	owner VARCHAR NOT NULL, 
	source VARCHAR NOT NULL, 
	path VARCHAR NOT NULL, 
	resume TEXT NOT NULL, 
	read_ms BIGINT NOT NULL, 
	CONSTRAINT pk_transcript_file PRIMARY KEY (owner, source, path)
);
CREATE TABLE turn (
	space VARCHAR NOT NULL, 
	memory VARCHAR NOT NULL, 
	owner VARCHAR NOT NULL, 
	source VARCHAR NOT NULL, 
	conversation VARCHAR NOT NULL, 
	turn_id VARCHAR NOT NULL, 
	first_message VARCHAR NOT NULL, 
	complete BOOLEAN NOT NULL, 
	workspace VARCHAR NOT NULL, 
	details TEXT NOT NULL, 
	started_ms BIGINT NOT NULL, 
	ended_ms BIGINT NOT NULL, 
	CONSTRAINT pk_turn PRIMARY KEY (space, memory)
);
CREATE INDEX ix_turn_conversation ON turn (owner, source, conversation, started_ms);
CREATE INDEX ix_turn_first_message ON turn (owner, source, first_message);
CREATE TABLE memory_count (
	space VARCHAR NOT NULL, 
	slot INTEGER NOT NULL, 
	total BIGINT NOT NULL, 
	CONSTRAINT pk_memory_count PRIMARY KEY (space, slot)
);
CREATE INDEX ix_memory_expiring ON memory (space, expires_ms, part_count) WHERE expires_ms IS NOT NULL;
CREATE VIRTUAL TABLE search_text USING fts5(tokens, tokenize='ascii');
INSERT INTO "alembic_version" (version_num) VALUES ('0002');
INSERT INTO "job" (id, name, args, status, dedupe, lane, run_at_ms, lease_until_ms, attempts, last_error, created_ms) VALUES ('job_00000000000000000022', 'search.merge', '{}', 'waiting', 'search.merge', NULL, 1767398700000, NULL, 0, NULL, 1767398400000);
INSERT INTO "job" (id, name, args, status, dedupe, lane, run_at_ms, lease_until_ms, attempts, last_error, created_ms) VALUES ('job_00000000000000000025', 'search.embed', '{}', 'waiting', 'search.embed', 'search.embed', 1767398400000, NULL, 0, NULL, 1767398400000);
INSERT INTO "memory" (space, id, owner, agent, door, kind, layer, status, title, text, chars, part_count, tags, source, key, origin, revision, event_ms, created_ms, updated_ms, expires_ms) VALUES ('sh_352104ad2e7ee1c0ef6e', '00000000000000000000000000000001', 'alice', 'tester', 'test', 'note', '', 'active', '', 'Staging listens on port 5433.', 29, 1, '["deploy","port"]', 'runbook', NULL, '{}', 1, 1767225600000, 1767225600000, 1767225600000, NULL);
INSERT INTO "memory" (space, id, owner, agent, door, kind, layer, status, title, text, chars, part_count, tags, source, key, origin, revision, event_ms, created_ms, updated_ms, expires_ms) VALUES ('pr_29814ab0309c83db4d23', '00000000000000000000000000000003', 'bob', 'tester', 'test', 'note', '', 'active', '', 'Bob keeps this private note.', 28, 1, '[]', '', NULL, '{}', 1, 1767225600000, 1767225600000, 1767225600000, NULL);
INSERT INTO "memory" (space, id, owner, agent, door, kind, layer, status, title, text, chars, part_count, tags, source, key, origin, revision, event_ms, created_ms, updated_ms, expires_ms) VALUES ('pr_991ad52d044a8646cc76', '00000000000000000000000000000005', 'alice', 'tester', 'test', 'note', '', 'active', '', 'ステージングは火曜日にデプロイする 🚀', 19, 1, '[]', '', NULL, '{}', 1, 1767225600000, 1767225600000, 1767225600000, NULL);
INSERT INTO "memory" (space, id, owner, agent, door, kind, layer, status, title, text, chars, part_count, tags, source, key, origin, revision, event_ms, created_ms, updated_ms, expires_ms) VALUES ('pr_991ad52d044a8646cc76', '00000000000000000000000000000007', 'alice', 'tester', 'test', 'note', '', 'active', '', 'Chapter 0 is about subject0. detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0

Chapter 1 is about subject1. detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1

Chapter 2 is about subject2. detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2', 2968, 7, '["long"]', '', NULL, '{}', 1, 1767225600000, 1767225600000, 1767225600000, NULL);
INSERT INTO "memory" (space, id, owner, agent, door, kind, layer, status, title, text, chars, part_count, tags, source, key, origin, revision, event_ms, created_ms, updated_ms, expires_ms) VALUES ('pr_991ad52d044a8646cc76', '00000000000000000000000000000010', 'alice', 'tester', 'test', 'note', '', 'active', '', 'API limit is 250.', 17, 1, '[]', '', 'limit', '{}', 3, 1767225600000, 1767225600000, 1767398400000, NULL);
INSERT INTO "memory" (space, id, owner, agent, door, kind, layer, status, title, text, chars, part_count, tags, source, key, origin, revision, event_ms, created_ms, updated_ms, expires_ms) VALUES ('pr_385492421c1045362780', '00000000000000000000000000000014', 'alice', 'tester', 'test', 'session', '', 'active', '', '# Deploy

Step 0: do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. 

Step 1: do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. 

Step 2: do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. 

Step 3: do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. 
', 2149, 6, '[]', '', NULL, '{"session_id":"deploy-notes"}', 1, 1767398400000, 1767398400000, 1767398400000, NULL);
INSERT INTO "memory" (space, id, owner, agent, door, kind, layer, status, title, text, chars, part_count, tags, source, key, origin, revision, event_ms, created_ms, updated_ms, expires_ms) VALUES ('pr_c41b581ae53c0192ca49', '0000000000000000000000000000001c', 'alice', 'tester', 'test', 'turn', 'trace', 'active', 'How do we restore the backup?', '## user

How do we restore the backup?

## assistant

Answered.', 63, 1, '["agent-source","claude_code"]', 'claude_code', 'turn:claude_code:message-1', '{"session_id":"11111111-2222-4333-8444-555555555555","turn_id":"claude_code:000000000000000000000001"}', 1, 1777629660000, 1767398400000, 1767398400000, NULL);
INSERT INTO "memory" (space, id, owner, agent, door, kind, layer, status, title, text, chars, part_count, tags, source, key, origin, revision, event_ms, created_ms, updated_ms, expires_ms) VALUES ('sh_352104ad2e7ee1c0ef6e', '00000000000000000000000000000024', 'bob', 'tester', 'test', 'note', '', 'active', '', 'Everybody reads this: lunch is at noon.', 39, 1, '[]', '', NULL, '{}', 1, 1767398400000, 1767398400000, 1767398400000, NULL);
INSERT INTO "memory_link" (space, from_memory, relation, to_memory, created_ms) VALUES ('pr_991ad52d044a8646cc76', '00000000000000000000000000000010', 'related', '00000000000000000000000000000007', 1767398400000);
INSERT INTO "memory_part" (space, id, memory, seq, start, length) VALUES ('pr_991ad52d044a8646cc76', '00000000000000000000000000000008', '00000000000000000000000000000007', 0, 0, 453);
INSERT INTO "memory_part" (space, id, memory, seq, start, length) VALUES ('pr_991ad52d044a8646cc76', '00000000000000000000000000000009', '00000000000000000000000000000007', 1, 453, 448);
INSERT INTO "memory_part" (space, id, memory, seq, start, length) VALUES ('pr_991ad52d044a8646cc76', '0000000000000000000000000000000a', '00000000000000000000000000000007', 2, 901, 446);
INSERT INTO "memory_part" (space, id, memory, seq, start, length) VALUES ('pr_991ad52d044a8646cc76', '0000000000000000000000000000000b', '00000000000000000000000000000007', 3, 1347, 448);
INSERT INTO "memory_part" (space, id, memory, seq, start, length) VALUES ('pr_991ad52d044a8646cc76', '0000000000000000000000000000000c', '00000000000000000000000000000007', 4, 1795, 446);
INSERT INTO "memory_part" (space, id, memory, seq, start, length) VALUES ('pr_991ad52d044a8646cc76', '0000000000000000000000000000000d', '00000000000000000000000000000007', 5, 2241, 448);
INSERT INTO "memory_part" (space, id, memory, seq, start, length) VALUES ('pr_991ad52d044a8646cc76', '0000000000000000000000000000000e', '00000000000000000000000000000007', 6, 2689, 279);
INSERT INTO "memory_part" (space, id, memory, seq, start, length) VALUES ('pr_385492421c1045362780', '00000000000000000000000000000015', '00000000000000000000000000000014', 0, 0, 438);
INSERT INTO "memory_part" (space, id, memory, seq, start, length) VALUES ('pr_385492421c1045362780', '00000000000000000000000000000016', '00000000000000000000000000000014', 1, 438, 451);
INSERT INTO "memory_part" (space, id, memory, seq, start, length) VALUES ('pr_385492421c1045362780', '00000000000000000000000000000017', '00000000000000000000000000000014', 2, 889, 451);
INSERT INTO "memory_part" (space, id, memory, seq, start, length) VALUES ('pr_385492421c1045362780', '00000000000000000000000000000018', '00000000000000000000000000000014', 3, 1340, 275);
INSERT INTO "memory_part" (space, id, memory, seq, start, length) VALUES ('pr_385492421c1045362780', '00000000000000000000000000000019', '00000000000000000000000000000014', 4, 1615, 449);
INSERT INTO "memory_part" (space, id, memory, seq, start, length) VALUES ('pr_385492421c1045362780', '0000000000000000000000000000001a', '00000000000000000000000000000014', 5, 2064, 85);
INSERT INTO "memory_revision" (space, memory, revision, title, text, tags, replaced_ms, replaced_by) VALUES ('pr_991ad52d044a8646cc76', '00000000000000000000000000000010', 1, '', 'API limit is 100.', '[]', 1767312000000, 'alice');
INSERT INTO "memory_revision" (space, memory, revision, title, text, tags, replaced_ms, replaced_by) VALUES ('pr_991ad52d044a8646cc76', '00000000000000000000000000000010', 2, '', 'API limit is 200.', '[]', 1767398400000, 'alice');
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (1, 'sh_352104ad2e7ee1c0ef6e', 'note', '00000000000000000000000000000001', '00000000000000000000000000000001', 0, 0, 'Staging listens on port 5433.', '', '3176eecf410bdc67a644e9b0dffa0a1d', 'alice', '', 'active', 'runbook', '["deploy","port"]', 1767225600000, 1767225600000, NULL);
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (2, 'pr_29814ab0309c83db4d23', 'note', '00000000000000000000000000000003', '00000000000000000000000000000003', 0, 0, 'Bob keeps this private note.', '', '6c101d8a22209474e98a5da22c97f096', 'bob', '', 'active', '', '[]', 1767225600000, 1767225600000, NULL);
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (3, 'pr_991ad52d044a8646cc76', 'note', '00000000000000000000000000000005', '00000000000000000000000000000005', 0, 0, 'ステージングは火曜日にデプロイする 🚀', '', '79f6960ca95c513425b67ee40a672bb3', 'alice', '', 'active', '', '[]', 1767225600000, 1767225600000, NULL);
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (4, 'pr_991ad52d044a8646cc76', 'note', '00000000000000000000000000000007', '00000000000000000000000000000008', 0, 0, 'Chapter 0 is about subject0. detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 ', '', 'e8f33f508b23719e0a2de35b1c486754', 'alice', '', 'active', '', '["long"]', 1767225600000, 1767225600000, NULL);
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (5, 'pr_991ad52d044a8646cc76', 'note', '00000000000000000000000000000007', '00000000000000000000000000000009', 1, 0, 'detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 ', '', 'c75324a68e3322cb6844c9ef98874d76', 'alice', '', 'active', '', '["long"]', 1767225600000, 1767225600000, NULL);
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (6, 'pr_991ad52d044a8646cc76', 'note', '00000000000000000000000000000007', '0000000000000000000000000000000a', 2, 0, 'detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0

Chapter 1 is about subject1. detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 ', '', 'f0744aeefb13ae6c695d77dc9c952934', 'alice', '', 'active', '', '["long"]', 1767225600000, 1767225600000, NULL);
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (7, 'pr_991ad52d044a8646cc76', 'note', '00000000000000000000000000000007', '0000000000000000000000000000000b', 3, 0, 'detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 ', '', '669972825366ced89b7db29913d8120d', 'alice', '', 'active', '', '["long"]', 1767225600000, 1767225600000, NULL);
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (8, 'pr_991ad52d044a8646cc76', 'note', '00000000000000000000000000000007', '0000000000000000000000000000000c', 4, 0, 'detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1

Chapter 2 is about subject2. detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 ', '', 'bb866d1a3ab27cd26abc1579c850345b', 'alice', '', 'active', '', '["long"]', 1767225600000, 1767225600000, NULL);
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (9, 'pr_991ad52d044a8646cc76', 'note', '00000000000000000000000000000007', '0000000000000000000000000000000d', 5, 0, 'detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 ', '', 'd73484afc441573c29cb510237784db2', 'alice', '', 'active', '', '["long"]', 1767225600000, 1767225600000, NULL);
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (10, 'pr_991ad52d044a8646cc76', 'note', '00000000000000000000000000000007', '0000000000000000000000000000000e', 6, 0, 'detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2', '', 'cf45b63441b761fe6568b5f3b48ba16a', 'alice', '', 'active', '', '["long"]', 1767225600000, 1767225600000, NULL);
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (13, 'pr_991ad52d044a8646cc76', 'note', '00000000000000000000000000000010', '00000000000000000000000000000010', 0, 0, 'API limit is 250.', '', '9c9e761db1b9af759394d34b247c7501', 'alice', '', 'active', '', '[]', 1767225600000, 1767225600000, NULL);
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (14, 'pr_385492421c1045362780', 'session', '00000000000000000000000000000014', '00000000000000000000000000000015', 0, 0, '# Deploy

Step 0: do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. ', '', '034d7e7ec8a7e8e41751e4c631dbb15a', 'alice', '', 'active', '', '[]', 1767398400000, 1767398400000, NULL);
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (15, 'pr_385492421c1045362780', 'session', '00000000000000000000000000000014', '00000000000000000000000000000016', 1, 0, 'do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. do thing0 carefully. 

Step 1: do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. ', '', '5a4181f98d1b8a59287ddc17112a2663', 'alice', '', 'active', '', '[]', 1767398400000, 1767398400000, NULL);
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (16, 'pr_385492421c1045362780', 'session', '00000000000000000000000000000014', '00000000000000000000000000000017', 2, 0, 'do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. do thing1 carefully. 

Step 2: do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. ', '', 'e56837d4383373a0ba53a14801549a29', 'alice', '', 'active', '', '[]', 1767398400000, 1767398400000, NULL);
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (17, 'pr_385492421c1045362780', 'session', '00000000000000000000000000000014', '00000000000000000000000000000018', 3, 0, 'do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. do thing2 carefully. 

', '', '360140e732173c30bcdda31799108c94', 'alice', '', 'active', '', '[]', 1767398400000, 1767398400000, NULL);
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (18, 'pr_385492421c1045362780', 'session', '00000000000000000000000000000014', '00000000000000000000000000000019', 4, 0, 'Step 3: do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. ', '', '173ba54b3006e253e9307b288de17a37', 'alice', '', 'active', '', '[]', 1767398400000, 1767398400000, NULL);
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (19, 'pr_385492421c1045362780', 'session', '00000000000000000000000000000014', '0000000000000000000000000000001a', 5, 0, 'do thing3 carefully. do thing3 carefully. do thing3 carefully. do thing3 carefully. 
', '', '5a998dd75dadbe9d0f045b6b53a831dc', 'alice', '', 'active', '', '[]', 1767398400000, 1767398400000, NULL);
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (20, 'pr_c41b581ae53c0192ca49', 'turn', '0000000000000000000000000000001c', '0000000000000000000000000000001c', 0, 0, 'How do we restore the backup?

Answered.', '', 'a1cce00922219d4939582f95b4d13d61', 'alice', 'trace', 'active', 'claude_code', '["agent-source","claude_code"]', 1777629660000, 1767398400000, NULL);
INSERT INTO "search_chunk" (id, space, kind, ref, piece, seq, start, text, context, hash, owner, layer, status, source, tags, event_ms, created_ms, expires_ms) VALUES (23, 'sh_352104ad2e7ee1c0ef6e', 'note', '00000000000000000000000000000024', '00000000000000000000000000000024', 0, 0, 'Everybody reads this: lunch is at noon.', '', 'b7fc79a153415684a2189f71548c5f61', 'bob', '', 'active', '', '[]', 1767398400000, 1767398400000, NULL);
INSERT INTO "search_model" (id, name, dims, created_ms) VALUES (1, 'hash/256', 256, 1767398400000);
INSERT INTO "search_pending" (chunk, space) VALUES (23, 'sh_352104ad2e7ee1c0ef6e');
INSERT INTO "search_vector" (id, space, chunk, model, vec) VALUES (1, 'pr_991ad52d044a8646cc76', 3, 1, X'00000000000000000000000000000000000000000000000000000000000047B4000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000047B400000000000000000000000000000000000000000000000047B400000000000000000000000000000000000000000000000000000000473400000000000000000000000000000000473400000000000000000000000000000000000000000000000047B400000000000047340000000000000000000047B4000000000000000000000000000000004734000000000000000000000000000000000000000000000000000000000000000047B400000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000047B400000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000047B40000000000000000000047B4000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000047340000000000000000000000000000000000000000000000000000');
INSERT INTO "search_vector" (id, space, chunk, model, vec) VALUES (2, 'pr_991ad52d044a8646cc76', 4, 1, X'00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000D32400000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000D324000000000000000000000000D3A400000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000D32400000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000D324FE3B00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "search_vector" (id, space, chunk, model, vec) VALUES (3, 'pr_991ad52d044a8646cc76', 5, 1, X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000003C00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "search_vector" (id, space, chunk, model, vec) VALUES (4, 'pr_991ad52d044a8646cc76', 6, 1, X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000006260000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000B7BB0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000626000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000062624340000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000006A6000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000006A6000000000000000000000000000000000000');
INSERT INTO "search_vector" (id, space, chunk, model, vec) VALUES (5, 'pr_991ad52d044a8646cc76', 7, 1, X'000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000BC00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "search_vector" (id, space, chunk, model, vec) VALUES (6, 'pr_991ad52d044a8646cc76', 8, 1, X'00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000C326C3A6000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000DCB800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000C3A6C326000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000573A000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "search_vector" (id, space, chunk, model, vec) VALUES (7, 'pr_991ad52d044a8646cc76', 9, 1, X'000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000003C000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "search_vector" (id, space, chunk, model, vec) VALUES (8, 'pr_991ad52d044a8646cc76', 10, 1, X'000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000003C000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "search_vector" (id, space, chunk, model, vec) VALUES (9, 'pr_991ad52d044a8646cc76', 13, 1, X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000380000000000000000000000000000000000000000000000000000000000000000000000B80000000000000000000000000000000000000000000000000000000000000000000000000000000000B800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000B8000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "search_vector" (id, space, chunk, model, vec) VALUES (10, 'pr_385492421c1045362780', 14, 1, X'0000000000000000000000000000000000000000000000000000000000000000000062270000000000000000000000000000000000000000000000000000000000000000000000009D380000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000009D380000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000009DB800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000062A700000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000062A700000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "search_vector" (id, space, chunk, model, vec) VALUES (11, 'pr_385492421c1045362780', 15, 1, X'000000000000000000000000000000000000000000000000000000000000000000008027000000000000000000000000000000000000000000000000000000000000000000000000EC38000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000B030000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000ECB800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000080B70000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000080A7000000000000000000000000000000000000');
INSERT INTO "search_vector" (id, space, chunk, model, vec) VALUES (12, 'pr_385492421c1045362780', 16, 1, X'00000000000000000000000000000000000000000000000000000000000000000000B027000000000000000000000000000000000000B0A7000000000000000000000000000000000B3900000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000BB900000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000053B4000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000C4B500000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "search_vector" (id, space, chunk, model, vec) VALUES (13, 'pr_385492421c1045362780', 17, 1, X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000009E3800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000009EB800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000009EB800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "search_vector" (id, space, chunk, model, vec) VALUES (14, 'pr_385492421c1045362780', 18, 1, X'9EB8000000000000000000000000000000000000000000000000000000000000000008270000000000000000000000000000000000000000000000000000000000000000000000009E3800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000009EB80000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000008A70000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "search_vector" (id, space, chunk, model, vec) VALUES (15, 'pr_385492421c1045362780', 19, 1, X'9EB8000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000009E3800000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000009EB80000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "search_vector" (id, space, chunk, model, vec) VALUES (16, 'pr_c41b581ae53c0192ca49', 20, 1, X'00000000000000000000000000000000000000000000000000000000000000000000000000000C36000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000CB60000000000000000000000000CB60000000000000000000000000000000000000000000000000000000000000C3600000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000C3600000C36000000000000000000000000000000000000000000000000000000000000000000000C3600000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "search_vector" (id, space, chunk, model, vec) VALUES (17, 'sh_352104ad2e7ee1c0ef6e', 1, 1, X'000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000028B700000000000000000000000000000000000000002837000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000028B700000000000000000000000000000000000000000000000000000000000000002837000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000028B7000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000');
INSERT INTO "search_vector" (id, space, chunk, model, vec) VALUES (18, 'pr_29814ab0309c83db4d23', 2, 1, X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000028B70000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000028370000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000028370000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000028370000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000002837');
INSERT INTO "session_transcript" (owner, session_id, space, memory) VALUES ('alice', 'deploy-notes', 'pr_385492421c1045362780', '00000000000000000000000000000014');
INSERT INTO "space" (id, kind, owner, name, created_ms) VALUES ('sh_352104ad2e7ee1c0ef6e', 'shared', '', 'shared', 1767225600000);
INSERT INTO "space" (id, kind, owner, name, created_ms) VALUES ('pr_29814ab0309c83db4d23', 'private', 'bob', 'notes', 1767225600000);
INSERT INTO "space" (id, kind, owner, name, created_ms) VALUES ('pr_991ad52d044a8646cc76', 'private', 'alice', 'notes', 1767225600000);
INSERT INTO "space" (id, kind, owner, name, created_ms) VALUES ('pr_385492421c1045362780', 'private', 'alice', 'sessions', 1767398400000);
INSERT INTO "space" (id, kind, owner, name, created_ms) VALUES ('pr_c41b581ae53c0192ca49', 'private', 'alice', 'transcripts', 1767398400000);
INSERT INTO "tombstone" (space, memory, owner, key, kind, removed_ms, removed_by) VALUES ('pr_991ad52d044a8646cc76', '00000000000000000000000000000020', 'alice', 'gone', 'note', 1767398400000, 'alice');
INSERT INTO "tombstone" (space, memory, owner, key, kind, removed_ms, removed_by) VALUES ('pr_c41b581ae53c0192ca49', '0000000000000000000000000000001e', 'alice', 'turn:claude_code:message-2', 'turn', 1767398400000, 'alice');
INSERT INTO "transcript_file" (owner, source, path, resume, read_ms) VALUES ('alice', 'claude_code', '/home/alice/.claude/projects/-srv-shop/s.jsonl', '{"offset":4096,"line":12,"last_ms":1777629605000,"anchor":"ab12","size":5000,"mtime_ns":7}', 1767398400000);
INSERT INTO "turn" (space, memory, owner, source, conversation, turn_id, first_message, complete, workspace, details, started_ms, ended_ms) VALUES ('pr_c41b581ae53c0192ca49', '0000000000000000000000000000001c', 'alice', 'claude_code', '11111111-2222-4333-8444-555555555555', 'claude_code:000000000000000000000001', 'message-1', 1, '/srv/shop', '{"file":"/home/alice/.claude/projects/-srv-shop/s.jsonl","bytes":[0,100],"tools":["Bash"],"git_branch":null}', 1777629660000, 1777629665000);
INSERT INTO "memory_count" (space, slot, total) VALUES ('sh_352104ad2e7ee1c0ef6e', 0, 2);
INSERT INTO "memory_count" (space, slot, total) VALUES ('pr_29814ab0309c83db4d23', 0, 1);
INSERT INTO "memory_count" (space, slot, total) VALUES ('pr_991ad52d044a8646cc76', 0, 9);
INSERT INTO "memory_count" (space, slot, total) VALUES ('pr_385492421c1045362780', 0, 6);
INSERT INTO "memory_count" (space, slot, total) VALUES ('pr_c41b581ae53c0192ca49', 0, 1);
INSERT INTO "search_text" (rowid, tokens) VALUES (1, 'sh352104ad2e7ee1c0ef6e stage listen on port 5433');
INSERT INTO "search_text" (rowid, tokens) VALUES (2, 'pr29814ab0309c83db4d23 bob keep this privat note');
INSERT INTO "search_text" (rowid, tokens) VALUES (3, 'pr991ad52d044a8646cc76 ステ テー ージ ジン ング グは は火 火曜 曜日 日に にデ デプ プロ ロイ イす する る');
INSERT INTO "search_text" (rowid, tokens) VALUES (4, 'pr991ad52d044a8646cc76 chapter 0 is about subject0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0');
INSERT INTO "search_text" (rowid, tokens) VALUES (5, 'pr991ad52d044a8646cc76 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0');
INSERT INTO "search_text" (rowid, tokens) VALUES (6, 'pr991ad52d044a8646cc76 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 detail0 chapter 1 is about subject1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1');
INSERT INTO "search_text" (rowid, tokens) VALUES (7, 'pr991ad52d044a8646cc76 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1');
INSERT INTO "search_text" (rowid, tokens) VALUES (8, 'pr991ad52d044a8646cc76 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 detail1 chapter 2 is about subject2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2');
INSERT INTO "search_text" (rowid, tokens) VALUES (9, 'pr991ad52d044a8646cc76 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2');
INSERT INTO "search_text" (rowid, tokens) VALUES (10, 'pr991ad52d044a8646cc76 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2 detail2');
INSERT INTO "search_text" (rowid, tokens) VALUES (13, 'pr991ad52d044a8646cc76 api limit is 250');
INSERT INTO "search_text" (rowid, tokens) VALUES (14, 'pr385492421c1045362780 deploy step 0 do thing0 care do thing0 care do thing0 care do thing0 care do thing0 care do thing0 care do thing0 care do thing0 care do thing0 care do thing0 care do thing0 care do thing0 care do thing0 care do thing0 care do thing0 care do thing0 care do thing0 care do thing0 care do thing0 care do thing0 care');
INSERT INTO "search_text" (rowid, tokens) VALUES (15, 'pr385492421c1045362780 do thing0 care do thing0 care do thing0 care do thing0 care do thing0 care step 1 do thing1 care do thing1 care do thing1 care do thing1 care do thing1 care do thing1 care do thing1 care do thing1 care do thing1 care do thing1 care do thing1 care do thing1 care do thing1 care do thing1 care do thing1 care do thing1 care');
INSERT INTO "search_text" (rowid, tokens) VALUES (16, 'pr385492421c1045362780 do thing1 care do thing1 care do thing1 care do thing1 care do thing1 care do thing1 care do thing1 care do thing1 care do thing1 care step 2 do thing2 care do thing2 care do thing2 care do thing2 care do thing2 care do thing2 care do thing2 care do thing2 care do thing2 care do thing2 care do thing2 care do thing2 care');
INSERT INTO "search_text" (rowid, tokens) VALUES (17, 'pr385492421c1045362780 do thing2 care do thing2 care do thing2 care do thing2 care do thing2 care do thing2 care do thing2 care do thing2 care do thing2 care do thing2 care do thing2 care do thing2 care do thing2 care');
INSERT INTO "search_text" (rowid, tokens) VALUES (18, 'pr385492421c1045362780 step 3 do thing3 care do thing3 care do thing3 care do thing3 care do thing3 care do thing3 care do thing3 care do thing3 care do thing3 care do thing3 care do thing3 care do thing3 care do thing3 care do thing3 care do thing3 care do thing3 care do thing3 care do thing3 care do thing3 care do thing3 care do thing3 care');
INSERT INTO "search_text" (rowid, tokens) VALUES (19, 'pr385492421c1045362780 do thing3 care do thing3 care do thing3 care do thing3 care');
INSERT INTO "search_text" (rowid, tokens) VALUES (20, 'prc41b581ae53c0192ca49 how do we restor the backup answer');
INSERT INTO "search_text" (rowid, tokens) VALUES (23, 'sh352104ad2e7ee1c0ef6e everybodi read this lunch is at noon');
DELETE FROM sqlite_sequence;
INSERT INTO "sqlite_sequence" (name, seq) VALUES ('search_chunk', 23);
INSERT INTO "sqlite_sequence" (name, seq) VALUES ('search_vector', 18);
CREATE TRIGGER memory_counted_insert AFTER INSERT ON memory WHEN NEW.expires_ms IS NULL BEGIN INSERT INTO memory_count SELECT NEW.space, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM memory_count WHERE space = NEW.space AND slot = 0); UPDATE memory_count SET total = total + NEW.part_count WHERE space = NEW.space AND slot = 0; END;
CREATE TRIGGER memory_counted_delete AFTER DELETE ON memory WHEN OLD.expires_ms IS NULL BEGIN UPDATE memory_count SET total = total - OLD.part_count WHERE space = OLD.space AND slot = 0; END;
CREATE TRIGGER memory_counted_before AFTER UPDATE OF part_count, expires_ms, space ON memory WHEN OLD.expires_ms IS NULL BEGIN UPDATE memory_count SET total = total - OLD.part_count WHERE space = OLD.space AND slot = 0; END;
CREATE TRIGGER memory_counted_after AFTER UPDATE OF part_count, expires_ms, space ON memory WHEN NEW.expires_ms IS NULL BEGIN INSERT INTO memory_count SELECT NEW.space, 0, 0 WHERE NOT EXISTS (SELECT 1 FROM memory_count WHERE space = NEW.space AND slot = 0); UPDATE memory_count SET total = total + NEW.part_count WHERE space = NEW.space AND slot = 0; END;
