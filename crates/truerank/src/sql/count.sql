-- Counts a click log: how often each user saw and clicked each document of each query at each position.
--
-- A result page is a session of a query. It belongs to one user and shows a document once; several documents may share
-- a position. Ids keep their type: whole numbers stay whole numbers, text stays text.

-- The impressions, positions and clicks as numbers. `fault` is the first rule that a row breaks, `example` the value.
{create} truerank_log AS
SELECT
    session,
    {user},
    query,
    doc,
    position,
    click,
    CASE
        WHEN position_text IS NULL THEN 'position is missing, but every impression needs one'
        WHEN position IS NULL THEN 'position is no whole number, but positions are whole numbers from 1'
        WHEN position < 1 THEN 'position is below 1, but positions start at 1'
        WHEN position > {max_position} THEN 'position is too large, but positions go up to {max_position}'
        WHEN click_text IS NULL THEN 'click is missing, but every impression needs one'
        WHEN click IS NULL THEN 'click is something else, but a click is 0 or 1'
        WHEN session IS NULL THEN 'session is missing or empty, but every impression needs one'
        WHEN doc IS NULL OR CAST(doc AS {text}) = '' THEN 'doc is missing or empty, but every impression needs one'
        WHEN query IS NULL OR CAST(query AS {text}) = '' THEN 'query is missing or empty, but every impression needs one'
        WHEN {user} IS NULL OR CAST({user} AS {text}) = '' THEN 'user is missing or empty, but every impression needs one'
    END AS fault,
    CASE WHEN position BETWEEN 1 AND {max_position} THEN click_text ELSE position_text END AS example{place}
FROM (
    SELECT
        session,
        {user},
        query,
        doc,
        position_text,
        -- DuckDB would round 1.5 and take 1e3, so only digits are let through.
        CASE WHEN NOT {matches}(position_text, '[^0-9+-]') THEN {try_cast}(position_text AS {integer}) END AS position,
        click_text,
        CASE
            WHEN click_text IN ('1', 'true', 'yes', 'y', 't') THEN 1
            WHEN click_text IN ('0', 'false', 'no', 'n', 'f') THEN 0
        END AS click{place}
    FROM (
        SELECT
            {session_column} AS session,
            {user_column} AS {user},
            {query_column} AS query,
            {doc_column} AS doc,
            -- Some tools write whole numbers as 3.0.
            REGEXP_REPLACE(TRIM(CAST({position_column} AS {text})), '[.]0+$', '') AS position_text,
            REGEXP_REPLACE(LOWER(TRIM(CAST({click_column} AS {text}))), '[.]0+$', '') AS click_text{place}
        FROM {log}
    ) AS columns_of_log
) AS values_of_log;

-- What each page shows. A document that stands there once has `times` 1; rows that break a rule stand apart.
{create} truerank_shown AS
SELECT
    query,
    session,
    doc,
    fault,
    MIN({user}) AS {user},
    MAX({user}) AS last_user,
    MIN(position) AS position,
    MAX(click) AS click,
    COUNT(*) AS times,
    MIN(example) AS example
FROM truerank_log
GROUP BY query, session, doc, fault;

-- The pages.
{create} truerank_pages AS
SELECT query, session, MIN({user}) AS {user}, MAX(last_user) AS last_user, SUM(times) AS shown, SUM(click) AS clicks
FROM truerank_shown
WHERE fault IS NULL
GROUP BY query, session;

-- What is wrong with the log: each finding once, how many rows or pages it is about, and the first of them. A log whose
-- checks are not empty is not to be counted.
{create} truerank_checks AS
SELECT finding, found, session, CAST(query AS {text}) AS query, example, other
FROM (
    SELECT
        finding,
        SUM(times) OVER (PARTITION BY finding) AS found,
        session,
        query,
        example,
        other,
        ROW_NUMBER() OVER (PARTITION BY finding ORDER BY query, session, example) AS place
    FROM (
        SELECT fault AS finding, times, session, query, example, CAST(NULL AS {text}) AS other
        FROM truerank_shown
        WHERE fault IS NOT NULL
        UNION ALL
        SELECT
            'doc appears twice on a page, but a result page shows it once',
            times,
            session,
            query,
            CAST(doc AS {text}),
            CAST(NULL AS {text})
        FROM truerank_shown
        WHERE fault IS NULL AND times > 1
        UNION ALL
        SELECT
            'page belongs to two users, but a session has one user',
            1,
            session,
            query,
            CAST({user} AS {text}),
            CAST(last_user AS {text})
        FROM truerank_pages
        WHERE {user} <> last_user
    ) AS broken
) AS numbered
WHERE place = 1
UNION ALL
SELECT
    CASE
        WHEN impressions > 0 THEN 'log holds clicks alone, but what people look at is learned from what was not clicked'
        ELSE 'log holds no impressions'
    END,
    impressions,
    CAST(NULL AS {text}),
    CAST(NULL AS {text}),
    CAST(NULL AS {text}),
    CAST(NULL AS {text})
FROM (SELECT COALESCE(SUM(shown), 0) AS impressions, COALESCE(SUM(clicks), 0) AS clicks FROM truerank_pages) AS totals
WHERE impressions = clicks;

-- The result: cells.
{create} truerank_cells AS
SELECT query, doc, position, {user}, COUNT(*) AS impressions, SUM(click) AS clicks
FROM truerank_shown
GROUP BY query, doc, position, {user};

-- The result: sessions of each query and user.
{create} truerank_sessions AS
SELECT query, {user}, COUNT(*) AS sessions
FROM truerank_pages
GROUP BY query, {user};

-- The result: pages that look the same, with the same clicks; only the PRS loss needs them.
{create} truerank_patterns AS
SELECT query, shown, COUNT(*) AS sessions
FROM (
    SELECT query, session, {page} AS shown
    FROM truerank_shown
    GROUP BY query, session
) AS pages_of_log
GROUP BY query, shown;
