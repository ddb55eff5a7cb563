-- What weights need of cells: sums by query and document, with θ of each cell's user and position.

-- @examined alike
-- All users look alike.
SELECT c.query, c.doc, c.position, c.impressions AS shown, c.clicks, p.average AS theta, p.average
FROM relevance_cells AS c
JOIN relevance_positions AS p ON c.position = p.position;

-- @examined by users
SELECT c.query, c.doc, c.position, c.impressions AS shown, c.clicks, ELEMENT_AT(u.theta, c.position) AS theta, p.average
FROM relevance_cells AS c
JOIN relevance_positions AS p ON c.position = p.position
JOIN relevance_users AS u ON c.`user` = u.`user`;

-- @sums
-- The sums that all estimators share, and c/θ of clicks that count by their own θ.
SELECT
    query,
    doc,
    SUM(shown) AS impressions,
    SUM(clicks) AS clicks,
    SUM(shown * theta) AS exposure,
    SUM(shown * theta * theta) AS squared_exposure,
    SUM(shown * average) AS average_exposure,
    CAST(SUM(shown * CAST(position AS BIGINT)) AS DOUBLE) AS positions,
    SUM(CASE WHEN theta > 0 THEN clicks / theta ELSE 0D END) AS relative_clicks,
    MAX(theta = 0 AND clicks > 0) AS has_unexamined_clicks
FROM relevance_examined
GROUP BY query, doc;

-- @spreads
-- n·p(1−p) with p the probability of a click, θγ, which is not above 1 where relative θ are. γ is the relevance that variances
-- assume, as `Exposures::assumed_relevance` has it.
SELECT
    query,
    doc,
    SUM(spread) AS spread,
    SUM(CASE WHEN theta > 0 THEN spread / (theta * theta) ELSE 0D END) AS relative_spread
FROM (
    SELECT query, doc, theta, shown * click * (1 - click) AS spread
    FROM (
        SELECT
            e.query,
            e.doc,
            e.theta,
            e.shown,
            LEAST(1D, e.theta * GREATEST(0D, LEAST(1D, (s.clicks + {mean}) / (s.exposure + 1)))) AS click
        FROM relevance_examined AS e
        JOIN relevance_sums AS s ON e.query = s.query AND e.doc = s.doc
    ) AS assumed
) AS spreads
GROUP BY query, doc;

-- @past
-- The first cell at a position past the last known one.
SELECT CAST(query AS STRING) AS name, position
FROM relevance_cells
WHERE position > {known}
ORDER BY query, doc, position, `user`
LIMIT 1;
