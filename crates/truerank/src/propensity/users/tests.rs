//! Kinds of users against the truth of drawn clicks.

use rand_distr::{Distribution, Gamma, Poisson};

use super::*;
use crate::random::stream;

const POSITIONS: usize = 5;

/// Clicks of users of kinds with these θ, exposed to `exposed` relevant documents at each position.
fn draw(kinds: &[[f64; POSITIONS]], users: usize, exposed: f64, shape: f64) -> (Vec<f64>, Vec<f64>, Vec<u32>) {
    let mut random = stream(3, "test", 0);
    let (mut clicks, mut of_user) = (Vec::new(), Vec::new());
    for user in 0..users {
        of_user.push((user % kinds.len()) as u32);
        for theta in kinds[user % kinds.len()] {
            let own = Gamma::new(shape, theta / shape).unwrap().sample(&mut random);
            clicks.push(Poisson::new(own * exposed).unwrap().sample(&mut random));
        }
    }
    (clicks, vec![exposed; users * POSITIONS], of_user)
}

const SHALLOW: [f64; POSITIONS] = [1.0, 0.3, 0.1, 0.05, 0.02];
const DEEP: [f64; POSITIONS] = [1.0, 0.9, 0.8, 0.7, 0.7];

#[test]
fn kinds_that_made_the_users_are_recovered() {
    let (clicks, exposed, of_user) = draw(&[SHALLOW, DEEP], 600, 20.0, 50.0);
    let users = UserClicks { clicks: &clicks, exposed: &exposed, positions: POSITIONS };
    let (kinds, _) = Kinds::find(&users, 2, 1).improve(&users, 200);
    let expected = kinds.expect(&users);
    assert!(adjusted_rand_index(&expected.of_user(2), &of_user) > 0.98);
    let clusters = sorted_clusters(&expected.of_user(2), &kinds.theta, POSITIONS);
    for (found, truth) in clusters.examination.chunks_exact(POSITIONS).zip([SHALLOW, DEEP]) {
        // 300 users, each exposed 20 times: four standard errors.
        let error = |truth: f64| (truth / 6000.0 + truth * truth / 50.0 / 300.0).sqrt();
        assert!(found.iter().zip(truth).all(|(found, truth)| (found - truth).abs() < 4.0 * error(truth)), "{found:?}");
    }
}

#[test]
fn users_are_drawn_toward_their_kind_and_know_how_uncertain_they_are() {
    let (clicks, exposed, _) = draw(&[DEEP], 2000, 5.0, 4.0);
    let users = UserClicks { clicks: &clicks, exposed: &exposed, positions: POSITIONS };
    let kinds = Kinds::one(&DEEP).improve(&users, 200).0;
    for (shape, theta) in kinds.shape.iter().zip(&kinds.theta) {
        assert!((shape / 4.0).ln().abs() < 0.4 && (theta / 0.8 - 1.0).abs() < 0.4, "{kinds:?}");
    }
    // The posterior of each is the conjugate one.
    let expected = kinds.expect(&users);
    let (shape, theta) = (kinds.shape[0], kinds.theta[0]);
    let (after, rate) = (shape + clicks[0], shape / theta + exposed[0]);
    assert!((expected.theta[0] - after / rate).abs() < 1e-12);
    assert!((expected.deviation[0] - after.sqrt() / rate).abs() < 1e-9);
}

#[test]
fn likelihoods_rise_with_every_step() {
    let (clicks, exposed, _) = draw(&[SHALLOW, DEEP], 90, 3.0, 5.0);
    let users = UserClicks { clicks: &clicks, exposed: &exposed, positions: POSITIONS };
    for count in [1, 2, 4] {
        let mut kinds = Kinds::find(&users, count, 1);
        let mut before = f64::NEG_INFINITY;
        for _ in 0..50 {
            let expected = kinds.expect(&users);
            // One more user per kind, by which shapes are held, is not in the likelihood.
            assert!(expected.log_likelihood >= before - 0.05, "{} after {before}", expected.log_likelihood);
            before = expected.log_likelihood;
            kinds.update(&expected.sums);
        }
    }
}

#[test]
fn who_was_shown_nothing_is_like_the_kind() {
    let (mut clicks, mut exposed, _) = draw(&[SHALLOW], 50, 20.0, 50.0);
    clicks.extend([0.0; POSITIONS]);
    exposed.extend([0.0; POSITIONS]);
    let users = UserClicks { clicks: &clicks, exposed: &exposed, positions: POSITIONS };
    let kinds = Kinds::find(&users, 1, 1);
    let expected = kinds.expect(&users);
    let alike = expected.theta[50 * POSITIONS..].iter().zip(&kinds.theta);
    assert!(alike.into_iter().all(|(user, kind)| (user / kind - 1.0).abs() < 1e-12));
}

#[test]
fn numbers_of_clusters_that_users_cannot_have_are_refused() {
    let message = |clusters| UserGroups::new().clusters(clusters).check(1).unwrap_err().to_string();
    assert_eq!(
        message(ClusterCount::Given(2)),
        "number of clusters should be at most the number of users, 1, but is 2"
    );
    assert_eq!(message(ClusterCount::Given(0)), "number of clusters should be at least 1, but is 0");
    assert_eq!(message(ClusterCount::Chosen { most: 0 }), "largest number of clusters should be at least 1, but is 0");
}
