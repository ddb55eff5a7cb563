-- Sums over cells that an estimation of users asks for. A slot is a user and a position: user · positions + position − 1.

-- @together
-- What all users did.
SELECT query, doc, position, SUM(impressions) AS impressions, SUM(clicks) AS clicks
FROM sums_cells
GROUP BY query, doc, position;

-- @sessions
SELECT query, SUM(sessions) AS sessions
FROM sums_sessions
GROUP BY query;

-- @count
SELECT COUNT(*) FROM sums_cells;

-- @entries
-- The cells, with numbers to join by.
SELECT d.document, u.number * {positions} + c.position - 1 AS slot, c.impressions, c.clicks
FROM sums_cells AS c
JOIN sums_documents AS d ON c.query = d.query AND c.doc = d.doc
JOIN sums_users AS u ON c.`user` = u.`user`;

-- @kept
-- Those of some documents.
SELECT e.document, e.slot, e.impressions, e.clicks
FROM sums_entries AS e
JOIN sums_documents_kept AS k ON e.document = k.number;

-- @grouped
-- Groups of users at positions.
SELECT
    e.document,
    g.value * {positions} + e.slot % {positions} AS slot,
    SUM(e.impressions) AS impressions,
    SUM(e.clicks) AS clicks
FROM {entries} AS e
JOIN sums_groups AS g ON e.slot DIV {positions} = g.number
GROUP BY e.document, g.value * {positions} + e.slot % {positions};

-- @slots
SELECT slot, SUM(impressions) AS impressions, SUM(clicks) AS clicks
FROM {entries}
GROUP BY slot;

-- @exposed
-- Impressions of slots by the relevance of documents.
SELECT e.slot AS number, SUM(e.impressions * r.value) AS value
FROM sums_entries AS e
JOIN sums_relevance AS r ON e.document = r.number
GROUP BY e.slot;

-- @exposure
-- Impressions of documents by θ of slots.
SELECT e.document AS number, SUM(e.impressions * t.value) AS value
FROM sums_entries AS e
JOIN sums_theta AS t ON e.slot = t.number
GROUP BY e.document;
