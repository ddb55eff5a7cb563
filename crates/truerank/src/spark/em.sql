-- The sums of Regression-EM with one γ for each (query, document). A slot is a user and a position.

-- @documents
-- Each document with its clicks and impressions, and a number to join by.
SELECT MONOTONICALLY_INCREASING_ID() AS document, query, doc, clicks, shown
FROM (
    SELECT query, doc, CAST(SUM(clicks) AS DOUBLE) AS clicks, CAST(SUM(impressions) AS DOUBLE) AS shown
    FROM em_cells
    GROUP BY query, doc
) AS counted;

-- @entries
-- What happened to each document in each slot.
SELECT
    d.document,
    u.number * {positions} + c.position - 1 AS slot,
    CAST(c.clicks AS DOUBLE) AS clicks,
    CAST(c.impressions - c.clicks AS DOUBLE) AS misses
FROM em_cells AS c
JOIN em_documents AS d ON c.query = d.query AND c.doc = d.doc
JOIN em_users AS u ON c.`user` = u.`user`;

-- @slots
-- What no iteration changes.
SELECT slot, SUM(clicks) AS clicks, SUM(misses) AS misses
FROM em_entries
GROUP BY slot;

-- @links
-- Slots that a clicked document compares. Those without clicks have θ = 0 and would be false bridges.
SELECT DISTINCT first_slot, slot
FROM (
    SELECT e.slot, MIN(e.slot) OVER (PARTITION BY e.document) AS first_slot
    FROM em_entries AS e
    JOIN em_theta AS t ON e.slot = t.slot
    JOIN em_documents AS d ON e.document = d.document
    WHERE d.clicks > 0 AND t.clicks > 0
) AS seen
WHERE first_slot < slot;

-- @start
-- γ, and what it was one and two steps before.
SELECT document, clicks, shown, {gamma} AS gamma, {gamma} AS last, {gamma} AS second_last
FROM em_documents;

-- @expected
-- For a miss, P(e=1|c=0) = θ(1−γ)/(1−θγ). The log-likelihood is Σ c·ln(θγ) + m·ln(1−θγ); its part of γ alone has slot −1,
-- and its part of θ alone is left out.
SELECT
    slot,
    SUM(misses * theta * (1 - gamma) / no_click) AS examined,
    SUM(misses * LN(no_click)) AS log_likelihood
FROM (
    SELECT e.slot, e.misses, t.theta, g.gamma, GREATEST(1 - t.theta * g.gamma, {tiny}) AS no_click
    FROM em_entries AS e
    JOIN em_theta AS t ON e.slot = t.slot
    JOIN em_gamma AS g ON e.document = g.document
) AS missed
GROUP BY slot
UNION ALL
SELECT -1, 0, SUM(CASE WHEN clicks > 0 THEN clicks * LN(gamma) ELSE 0 END)
FROM em_gamma;

-- @relevance
-- For a miss, P(r=1|c=0) = γ(1−θ)/(1−θγ); γ is expected relevance over impressions.
SELECT
    document,
    clicks,
    shown,
    (clicks + gamma * SUM(misses * (1 - theta) / no_click)) / shown AS gamma,
    gamma AS last,
    last AS second_last
FROM (
    SELECT g.*, e.misses, t.theta, GREATEST(1 - t.theta * g.gamma, {tiny}) AS no_click
    FROM em_entries AS e
    JOIN em_theta AS t ON e.slot = t.slot
    JOIN em_gamma AS g ON e.document = g.document
) AS missed
GROUP BY document, clicks, shown, gamma, last, second_last;

-- @lengths
-- ‖r‖² and ‖v‖² of γ, with r the first of the last two steps and v the change between them.
SELECT
    SUM((last - second_last) * (last - second_last)) AS r2,
    SUM((gamma - 2 * last + second_last) * (gamma - 2 * last + second_last)) AS v2
FROM em_gamma;

-- @jump
-- SQUAREM's jump, back to where γ is a probability.
SELECT
    document,
    clicks,
    shown,
    GREATEST({margin}, LEAST(1 - {margin},
        second_last + 2 * {length} * (last - second_last) + {length} * {length} * (gamma - 2 * last + second_last)
    )) AS gamma,
    gamma AS last,
    last AS second_last
FROM em_gamma;
